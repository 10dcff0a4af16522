"""Who may ask, and how often: API keys, compared in constant time, and a rate for each key or address."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from starlette.requests import Request

from regard.data.files import read_lines
from regard.errors import UserError
from regard.server.refusal import Refusal

CALLERS = 10_000  # whose rates are remembered
BEARER, DEEPL = "bearer ", "deepl-auth-key "


def read_keys(path: Path) -> list[str]:
    """A key a line; empty lines and lines that begin with # are none."""
    keys = [line.strip() for line in read_lines(path) if line.strip() and not line.startswith("#")]
    if not keys:
        raise UserError(f"{path} holds no key; write one a line, or leave --api-key-file out")
    return keys


class Access:
    """Keys, and a token bucket for each caller: `rate` requests a minute, as many at once."""

    def __init__(self, keys: Iterable[str], rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._digests = [_digest(key) for key in keys]
        self._rate, self._clock = rate, clock
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()  # caller → tokens left, and when

    @property
    def needs_key(self) -> bool:
        return bool(self._digests)

    def check(self, request: Request, key: object = None) -> None:
        """Refuse a caller without a key, with a wrong one, or that asks too often. `key`: where the dialect has it;
        else it is that of the header Authorization."""
        given = key if isinstance(key, str) and key else _header_key(request)
        if self._digests:
            if not given:
                raise Refusal(401, "an API key is needed; send it with the request")
            if not self.knows(given):
                raise Refusal(403, "Invalid API key")
        if self._rate:
            caller = given if self._digests else (request.client.host if request.client else "")
            self._spend(_digest(caller))

    def knows(self, key: str) -> bool:
        """Digests of one length are compared, all of them: the time tells nothing of the keys."""
        digest = _digest(key)
        return sum(hmac.compare_digest(digest, known) for known in self._digests) > 0

    def _spend(self, caller: bytes) -> None:
        now = self._clock()
        left, since = self._buckets.pop(caller, (float(self._rate), now))
        left = min(self._rate, left + (now - since) * self._rate / 60)
        self._buckets[caller] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._buckets) > CALLERS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) * 60 / self._rate))
            raise Refusal(429, f"Slowdown: {self._rate} requests a minute are allowed; come again", wait)


def _header_key(request: Request) -> str:
    value = request.headers.get("authorization", "")
    for scheme in (BEARER, DEEPL):
        if value.lower().startswith(scheme):
            return value[len(scheme) :].strip()
    return ""


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
