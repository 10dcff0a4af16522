"""A run behind `regard serve`: requests a second, times to the answer, memory; with and without the micro-batcher.

python benchmarks/serving.py RUN [--clients 64] [--seconds 60] [--requests 10000] [--sources FILE] [--beside URL]

The texts are the run's test sources, or the lines of a file; every answer is compared with that of `regard translate`.
`--beside`: another server that speaks LibreTranslate's API and is running already, such as LibreTranslate itself with
the same weights; it gets the same load.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _http_load import HEADER, Target, load
from _machine import machine

import regard
from regard.data.files import read_lines

FEW = (1, 16)  # clients, beside those that are asked for
KIBIBYTES = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int
    seconds: float  # from its start to its first answer

    @property
    def megabytes(self) -> float:
        """Of memory that it has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = KIBIBYTES.search(status)
        assert found is not None
        return int(found[1]) / 1024


def main() -> None:
    options = _options()
    texts, expected, pair = _texts(options)
    source, target = pair.split("-")
    print(
        f"## Serving {options.run.name}: {len(texts):,} texts of {sum(map(len, texts)) / len(texts):.0f} characters\n"
    )
    print(f"{machine('uvicorn', 'fastapi')}; {options.seconds:g} seconds each\n\n{HEADER}")
    for name, flags in (("micro-batches", ()), ("one by one", ("--batch-tokens", "1"))):
        with serving(options.run, pair, *flags) as server:
            asked = Target(server.port, source, target, texts, expected)
            load(asked, 1, requests=5)  # the first answer lays out caches
            for clients in (*FEW, options.clients):
                print(load(asked, clients, options.seconds).row(name, clients), flush=True)
    if options.beside:
        port = urllib.parse.urlsplit(options.beside).port
        beside = Target(port or 80, source, target, texts)
        load(beside, 1, requests=5)
        for clients in (*FEW, options.clients):
            print(load(beside, clients, options.seconds).row(options.beside, clients), flush=True)
    _memory(options, Target(0, source, target, texts, expected), pair)


def _memory(options: argparse.Namespace, asked: Target, pair: str) -> None:
    """Over many requests; a tenth of them come before the first measurement."""
    with serving(options.run, pair) as server:
        idle = server.megabytes
        target = Target(server.port, asked.source, asked.target, asked.texts, asked.expected)
        tenth = options.requests // 10
        load(target, 16, requests=tenth)
        warm = server.megabytes
        rest = load(target, 16, requests=options.requests - tenth)
        print(f"\nfirst answer {server.seconds:.1f} s after the start; memory: {idle:,.0f} MB idle, ", end="")
        print(
            f"{warm:,.0f} MB after {tenth:,} requests, {server.megabytes:,.0f} MB after {options.requests:,}; ", end=""
        )
        print(f"{rest.failures} failures, {rest.wrong} other answers")


@contextmanager
def serving(run: Path, pair: str, *flags: str) -> Iterator[Server]:
    """`regard serve` in a process of its own, on a free port."""
    command = [sys.executable, "-m", "regard", "serve", "--as", f"{pair}={run}", "--port", "0", *flags]
    started = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = ""
            for line in process.stderr:
                said += line
                if found := re.match(r"serving on http://127\.0\.0\.1:(\d+)/", line):
                    break
            else:
                sys.exit(f"regard serve did not start: {said}")
            drain = threading.Thread(target=lambda lines: deque(lines, maxlen=0), args=(process.stderr,))  # its log
            drain.start()
            urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/health").close()
            yield Server(process, int(found[1]), time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait()
            drain.join()


def _texts(options: argparse.Namespace) -> tuple[list[str], dict[str, str], str]:
    """The texts, the answer to each by the library, and the languages of the run."""
    pipeline = regard.load(options.run)
    if options.sources:
        texts = [line for line in read_lines(options.sources) if line.strip()]
    else:
        texts = [example.source for example in pipeline.run.examples("test")]
    texts = list(dict.fromkeys(texts))[: options.texts]
    results = pipeline.translate_all(texts)
    data = pipeline.run.plan.data
    pair = f"{data.source_language or 'en'}-{data.target_language or 'fr'}"
    return texts, {text: result.text for text, result in zip(texts, results, strict=True)}, pair


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path, help="a run directory of a translator")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, default=10_000, help="of the measurement of memory")
    parser.add_argument("--sources", type=Path, help="a file with one text a line")
    parser.add_argument("--texts", type=int, default=1000, help="how many different texts are sent")
    parser.add_argument("--beside", help="the address of another server with LibreTranslate's API")
    return parser.parse_args()


if __name__ == "__main__":
    main()
