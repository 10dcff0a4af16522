"""What a step reports, and where it goes: the progress line and metrics.jsonl."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from regard.config import TrainingPlan
from regard.files import append_lines, write_text


@dataclass(frozen=True)
class StepReport:
    """One update, and the validation after it, if there was one."""

    step: int
    epoch: float  # with the fraction of this one
    loss: float  # nats per real target token of this batch, unsmoothed
    rate: float
    norm: float  # of the gradient, before clipping
    tokens: int  # real target tokens of this batch
    seconds: float  # since training began, before resuming included
    step_seconds: float  # of this update, without a validation
    dev: dict[str, float] | None = None
    improved: bool = False  # the best weights so far

    def record(self) -> dict[str, Any]:
        """The line of metrics.jsonl."""
        line: dict[str, Any] = {
            "step": self.step,
            "epoch": round(self.epoch, 4),
            "loss": round(self.loss, 6),
            "rate": round(self.rate, 9),
            "norm": round(self.norm, 4),
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
        }
        if self.dev is not None:
            line |= {"dev": {key: round(value, 6) for key, value in self.dev.items()}, "improved": self.improved}
        return line


class Metrics:
    """metrics.jsonl: one line a step, in memory until `flush`, which comes just before every checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[str] = []

    def add(self, report: StepReport) -> None:
        self._waiting.append(json.dumps(report.record()))

    def flush(self) -> None:
        if self._waiting:
            append_lines(self.path, self._waiting)
            self._waiting.clear()

    def cut_after(self, step: int) -> None:
        """Forget what came after the checkpoint that training resumes from, so that no step is there twice."""
        kept = [json.dumps(line) for line in read_metrics(self.path) if line["step"] <= step]
        write_text(self.path, "".join(f"{line}\n" for line in kept))


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; one cut short by a crash is left out."""
    lines: list[dict[str, Any]] = []
    if path.is_file():
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(line, dict) and isinstance(line.get("step"), int):
                lines.append(line)
    return lines


class ProgressLine:
    """A live line in a terminal; elsewhere one plain line a validation. All on stderr."""

    def __init__(self, training: TrainingPlan, total: int | None, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._live: Live | None = None
        self._metric = training.metric
        self._limit_seconds = None if training.minutes is None else training.minutes * 60
        self._total = total
        self._losses: tuple[float, float] = (0.0, 0.0)  # sum and weight, fading
        self._since: tuple[int, float] | None = None  # step and seconds of the first report
        self._recent: tuple[float, float] = (0.0, 0.0)  # tokens and seconds, fading
        self._dev = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.quiet:
            self._live = Live(console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        with suppress(OSError):  # a terminal that was closed
            self._console.print(Text(text), soft_wrap=True)

    def show(self, report: StepReport) -> None:
        total, weight = self._losses
        self._losses = (0.95 * total + report.loss, 0.95 * weight + 1)
        if self._since is None:
            self._since = (report.step, report.seconds)
        tokens, seconds = self._recent
        self._recent = (0.95 * tokens + report.tokens, 0.95 * seconds + report.step_seconds)
        if report.dev is not None:
            self._dev = "dev " + dev_text(report.dev, self._metric)
            self.say(self._validation_line(report))
        if self._live is not None:
            with suppress(OSError):
                self._live.update(Text(self._line(report), no_wrap=True, overflow="ellipsis"))

    @property
    def _recent_loss(self) -> float:
        total, weight = self._losses
        return total / weight

    def _validation_line(self, report: StepReport) -> str:
        star = "  * best" if report.improved else ""
        return f"{self._where(report)}  loss {self._recent_loss:.3f}  {self._dev}  {clock(report.seconds)}{star}"

    def _where(self, report: StepReport) -> str:
        total = "" if self._total is None else f"/{self._total}"
        return f"step {report.step}{total}  epoch {report.epoch:.1f}"

    def _line(self, report: StepReport) -> str:
        tokens, seconds = self._recent
        speed = f"  {tokens / seconds:,.0f} tokens/s" if seconds > 0 else ""
        left = self._left(report)
        left_text = "" if left is None else f"  {clock(left)} left"
        return (
            f"{self._where(report)}  loss {self._recent_loss:.3f}{speed}{left_text}  {self._dev}"  # within 80 columns
        )

    def _left(self, report: StepReport) -> float | None:
        """Seconds until the nearer of the two limits; patience may end it sooner."""
        limits = []
        assert self._since is not None
        first, began = self._since
        if self._total is not None and report.step > first:
            limits.append((self._total - report.step) * (report.seconds - began) / (report.step - first))
        if self._limit_seconds is not None:
            limits.append(self._limit_seconds - report.seconds)
        return max(min(limits), 0.0) if limits else None


def dev_text(dev: dict[str, float], metric: str) -> str:
    """'chrf 54.10, loss 1.234': the metric that decides first."""
    shown = [metric] if metric == "loss" else [metric, "loss"]
    return ", ".join(f"{key} {value_text(key, dev[key])}" for key in shown if key in dev)


def value_text(key: str, value: float) -> str:
    match key:
        case "loss":
            return f"{value:.3f}"
        case "exact" | "accuracy":
            return f"{value:.1f}%"
        case _:
            return f"{value:.1f}"


def clock(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
