"""What /metrics tells Prometheus, and the log line of a request. Neither has addresses, keys or texts."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
HUNG_UP = 499  # nginx's code for a client that did not wait for its answer


class ServerMetrics:
    """The numbers of one server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("regard_requests", "Requests", ("method", "route", "status"), **own)
        self.seconds = Histogram("regard_request_seconds", "Time to the answer", ("route",), buckets=SECONDS, **own)
        self.batch_texts = Histogram("regard_batch_texts", "Texts decoded together", ("model",), buckets=TEXTS, **own)
        self.source_tokens = Counter("regard_source_tokens", "Source tokens decoded", ("model",), **own)
        self.output_tokens = Counter("regard_output_tokens", "Tokens of outputs", ("model",), **own)
        self.places = Gauge("regard_texts_in_work", "Texts in work or waiting", **own)
        self.loaded = Gauge("regard_model_loaded_timestamp", "When the weights were loaded", ("model",), **own)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class RequestLog:
    """One JSON object a request, on a line of its own."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(self, method: str, route: str, status: int, seconds: float, details: dict[str, Any]) -> None:
        record = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "method": method, "route": route}
        record |= {"status": status, "seconds": round(seconds, 4), **details}
        print(json.dumps(record, ensure_ascii=True), file=self._stream or sys.stderr, flush=True)


def now() -> float:
    return time.perf_counter()
