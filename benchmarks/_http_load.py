"""Clients of LibreTranslate's API, as many at once as are asked for, and what they saw."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Load:
    """What clients saw: a time for each answer, and what was wrong."""

    seconds: float = 0.0  # how long they asked
    times: list[float] = field(default_factory=list)
    failures: int = 0  # connections that broke, and answers that were no 200
    wrong: int = 0  # answers that are not the expected ones

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def percentile(self, percent: int) -> float:
        """In milliseconds."""
        if len(self.times) < 2:
            return 1000 * sum(self.times)
        return 1000 * statistics.quantiles(self.times, n=100)[percent - 1]

    def row(self, what: str, clients: int) -> str:
        percentiles = " | ".join(f"{self.percentile(percent):,.1f}" for percent in (50, 95, 99))
        return f"| {what} | {clients} | {self.rate:,.1f} | {percentiles} | {self.failures} | {self.wrong} |"


HEADER = (
    "| server | clients | requests/s | p50 ms | p95 ms | p99 ms | failures | other answers |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|"
)


@dataclass(frozen=True)
class Target:
    """A server and what is asked of it: the texts in turn, each with the answer that is expected (None: any)."""

    port: int
    source: str
    target: str
    texts: Sequence[str]
    expected: Mapping[str, str] | None = None

    def requests(self) -> Iterator[tuple[str, bytes]]:
        for text in itertools.cycle(self.texts):
            body = json.dumps({"q": text, "source": self.source, "target": self.target}).encode()
            head = "POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            yield text, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def load(target: Target, clients: int, seconds: float = float("inf"), requests: int | None = None) -> Load:
    """Each client asks, waits for the answer and asks again, for so long or until so many were asked in all."""
    return asyncio.run(_load(target, clients, seconds, requests))


async def _load(target: Target, clients: int, seconds: float, requests: int | None) -> Load:
    seen, source = Load(), target.requests()
    remaining = itertools.count() if requests is None else iter(range(requests))
    start = time.perf_counter()
    ends = start + seconds
    await asyncio.gather(*(_client(target, source, remaining, ends, seen) for _ in range(clients)))
    seen.seconds = time.perf_counter() - start
    return seen


async def _client(
    target: Target, source: Iterator[tuple[str, bytes]], remaining: Iterator[int], ends: float, seen: Load
) -> None:
    """On one connection, until the time is over; after a failure on a new one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    while time.perf_counter() < ends and next(remaining, None) is not None:
        text, request = next(source)
        asked = time.perf_counter()
        try:
            writer.write(request)
            status, body = await _answer(reader)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            seen.failures += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
            continue
        seen.times.append(time.perf_counter() - asked)
        if status != 200:
            seen.failures += 1
        elif target.expected is not None and json.loads(body)["translatedText"] != target.expected[text]:
            seen.wrong += 1
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length:")[2].split("\r\n")[0])
    return int(head.split(" ", 2)[1]), await reader.readexactly(length)
