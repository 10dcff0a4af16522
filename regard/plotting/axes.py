"""Axes: from values to pixels, linear or logarithmic, with round ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """What an axis measures. A limit at None is taken from the values; `names` replaces the numbers 0, 1, 2 …"""

    label: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] onto [start, end]."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, axis: Axis, values: list[float], start: float, end: float, tight: bool = False) -> Scale:
        """Wide enough for the values, with a little air around them unless `tight`."""
        usable = [value for value in values if math.isfinite(value) and not (axis.log and value <= 0)] or [1.0]
        low, high = min(usable), max(usable)
        if axis.log:
            room = (high / low) ** 0.06 if high > low else 2.0
            low, high = (low, high * (1 if high > low else 2)) if tight else (low / room, high * room)
        elif not tight:
            low, high = _bounds(low, high)
        low = low if axis.low is None else axis.low
        high = high if axis.high is None else axis.high
        return cls(low, high if high > low else low + 1, start, end, axis.log)

    def __call__(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        value = math.log(max(value, 1e-300)) if self.log else value
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int) -> list[float]:
        return log_ticks(self.low, self.high, count + 2) if self.log else ticks(self.low, self.high, count)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values (1, 2, 2.5 or 5 times a power of ten) within [low, high], about `count` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, count: int = 7) -> list[float]:
    """1, 2 and 5 times powers of ten within [low, high]; only every so many powers where that would be too many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for factors in ((1, 2, 5), (1,)):
        values = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        values = [value for value in values if low * 0.999 <= value <= high * 1.001]
        if len(values) < 2:  # less than a power of ten
            return ticks(low, high, 4)
        if len(values) <= count:
            return values
    return values[:: math.ceil(len(values) / count)]


def _bounds(low: float, high: float) -> tuple[float, float]:
    """A little air around the values; from 0 where they come near it."""
    room = (high - low) * 0.06 or max(abs(high) * 0.1, 0.1)
    return (0.0 if 0 <= low < 0.5 * high else low - room), high + room
