"""Confidence that means what it says: the probability that an output is right as it is.

Features of an output y of a source x come from one forward pass with y forced, whatever searched for it:

    z = (Σ log p_t, log(1 − Π p_t), mean log p_t, min log p_t, min margin, log of the length ratio)

The log-odds of "right" are w·z + b (logistic regression), fitted on held-out outputs by Newton's method with a small L2
penalty. The first two features are the log-odds of the sequence's own probability, so that a model that is calibrated
already stays as it is.

ECE = Σ_b n_b/N |confidence_b − share right_b| over 15 bins of equal width (Guo et al. 2017, section 2).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from regard.errors import UserError
from regard.evaluation.metrics import sentence_chrf
from regard.files import write_text
from regard.plotting.axes import Axis
from regard.plotting.line_chart import Line, Panel, line_chart

RightEvent = Literal["exact", "chrf"]
EVENTS: dict[RightEvent, str] = {"exact": "equal to the reference", "chrf": "chrF above 80"}
CHRF_RIGHT = 80.0
BINS = 15
FEATURES = ("log probability", "log of doubt", "mean", "least", "least margin", "length ratio")
LEAST_LOG = -30.0  # of a probability, so that no feature is infinite
PENALTY = 1.0
STEPS = 100
LEAST_EXAMPLES, FEW_EXAMPLES = 10, 200  # to fit at all; below the second a curve is mostly chance
BAR = "█"
BAR_WIDTH = 30


def is_right(output: str, reference: str, event: RightEvent) -> bool:
    """Whether an output is right as it is."""
    return output == reference if event == "exact" else sentence_chrf(output, reference) > CHRF_RIGHT


@dataclass(frozen=True)
class TokenScores:
    """Of an output, EOS included where it was reached: the log-probability of each token, and how much more probable
    it is than the best other one (in nats; negative where another was likelier)."""

    log_probs: tuple[float, ...]
    margins: tuple[float, ...]
    source_tokens: int

    @property
    def raw(self) -> float:
        """The probability of the whole output: what the model says without calibration."""
        return math.exp(sum(self.log_probs))

    def features(self) -> np.ndarray:
        total = max(sum(self.log_probs), LEAST_LOG)
        doubt = max(math.log(max(-math.expm1(total), 1e-12)), LEAST_LOG)
        ratio = math.log((len(self.log_probs) + 1) / (self.source_tokens + 1))
        least, margin = min(self.log_probs), min(self.margins)
        return np.array(
            [total, doubt, sum(self.log_probs) / len(self.log_probs), max(least, LEAST_LOG), margin, ratio], float
        )


@dataclass(frozen=True)
class ReliabilityBin:
    """Outputs of like confidence."""

    low: float
    high: float
    count: int
    confidence: float  # mean
    right: float  # share


@dataclass(frozen=True)
class Reliability:
    """How confidence and truth agree."""

    bins: tuple[ReliabilityBin, ...]
    error: float  # ECE

    @classmethod
    def of(cls, confidences: Sequence[float], right: Sequence[bool]) -> Self:
        values, truth = np.asarray(confidences, float), np.asarray(right, float)
        rows = np.minimum((values * BINS).astype(int), BINS - 1)
        bins = []
        for number in range(BINS):
            members = rows == number
            if members.any():
                mean, share = float(values[members].mean()), float(truth[members].mean())
                bins.append(ReliabilityBin(number / BINS, (number + 1) / BINS, int(members.sum()), mean, share))
        error = sum(one.count * abs(one.confidence - one.right) for one in bins) / max(len(values), 1)
        return cls(tuple(bins), float(error))


@dataclass(frozen=True)
class Calibration:
    """Weights of the standardised features, stored with a run."""

    event: RightEvent
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    examples: int  # that it was fitted on

    @classmethod
    def fit(cls, scores: Sequence[TokenScores], right: Sequence[bool], event: RightEvent) -> Self:
        """Newton's method on Σ log(1 + exp(−s·(w·z + b))) + penalty/2 |w|²; s is 1 where right, else −1."""
        if len(scores) < LEAST_EXAMPLES:
            raise UserError(f"{len(scores)} outputs are too few to calibrate on; give {LEAST_EXAMPLES} pairs or more")
        features = np.stack([score.features() for score in scores])
        mean, scale = features.mean(0), features.std(0)
        scale[scale < 1e-9] = 1.0
        design = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
        truth = np.asarray(right, float)
        # Of outputs that are all right or all wrong no odds can be told: half an output of either kind is added.
        truth = (truth * len(truth) + 0.5) / (len(truth) + 1)
        penalty = np.diag([PENALTY] * len(mean) + [1e-6])
        solution = np.zeros(design.shape[1])
        for _ in range(STEPS):
            odds = design @ solution
            probability = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
            gradient = design.T @ (probability - truth) + penalty @ solution
            curvature = design.T @ (design * (probability * (1 - probability))[:, None]) + penalty
            step = np.linalg.solve(curvature, gradient)
            step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))  # where the curvature is almost none
            solution -= step
            if np.abs(step).max() < 1e-9:
                break
        weights = tuple(solution[:-1].tolist())
        return cls(event, tuple(mean.tolist()), tuple(scale.tolist()), weights, float(solution[-1]), len(scores))

    def confidence(self, scores: TokenScores) -> float:
        standard = (scores.features() - np.array(self.mean)) / np.array(self.scale)
        odds = float(standard @ np.array(self.weights)) + self.bias
        return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))

    def write(self, path: Path) -> None:
        write_text(path, json.dumps({"format": 1, "features": FEATURES, **asdict(self)}, indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        try:
            stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if stored.pop("format") != 1 or tuple(stored.pop("features")) != FEATURES:
                raise UserError(f"{path}: it is of another version; run `regard calibrate {path.parent}` again")
            rows = {key: tuple(map(float, stored[key])) for key in ("mean", "scale", "weights")}
            return cls(stored["event"], **rows, bias=float(stored["bias"]), examples=int(stored["examples"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"{path} cannot be read ({type(error).__name__}); run `regard calibrate {path.parent}` again"
            ) from None


@dataclass(frozen=True)
class CalibrationReport:
    """Measured on outputs that the calibration was not fitted on."""

    event: RightEvent
    fitted: int
    measured: int
    right: float  # share of the measured
    before: Reliability  # of the model's own probability
    after: Reliability
    surest_half: float  # share that is right
    other_half: float

    @classmethod
    def of(cls, calibration: Calibration, scores: Sequence[TokenScores], right: Sequence[bool]) -> Self:
        after = [calibration.confidence(score) for score in scores]
        order = np.argsort([-value for value in after], kind="stable")
        truth = np.asarray(right, float)[order]
        half = max(len(truth) // 2, 1)
        return cls(
            event=calibration.event,
            fitted=calibration.examples,
            measured=len(scores),
            right=float(truth.mean()),
            before=Reliability.of([score.raw for score in scores], right),
            after=Reliability.of(after, right),
            surest_half=float(truth[:half].mean()),
            other_half=float(truth[half:].mean()) if len(truth) > half else 0.0,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def render_calibration(report: CalibrationReport) -> str:
    """The reliability curve as a table, and what it comes to."""
    event = EVENTS[report.event]
    few = min(report.fitted, report.measured) < FEW_EXAMPLES
    lines = [
        f"fitted on {report.fitted:,} outputs, measured on {report.measured:,} others; right: {event}",
        "",
        *([f"note: below {FEW_EXAMPLES} outputs the curve is mostly chance", ""] if few else []),
        "confidence   outputs   mean    right",
    ]
    for one in report.after.bins:
        bar = BAR * round(BAR_WIDTH * one.right)
        lines.append(f"{one.low:.2f}-{one.high:.2f}  {one.count:8,}  {one.confidence:6.3f}  {one.right:6.3f}  {bar}")
    lines += [
        "",
        f"ECE before {report.before.error:.3f}, after {report.after.error:.3f}",
        f"right: {report.right:.1%} of all, {report.surest_half:.1%} of the half it is surest of, "
        f"{report.other_half:.1%} of the other half",
    ]
    return "\n".join(lines)


def reliability_chart(report: CalibrationReport) -> str:
    """An SVG: the share that is right by confidence, before and after; perfect is the diagonal."""
    lines = [
        Line("perfect", [(0.0, 0.0), (1.0, 1.0)], kind="metric", dots=False, dashed=True),
        Line("before", [(one.confidence, one.right) for one in report.before.bins], kind="train"),
        Line("after", [(one.confidence, one.right) for one in report.after.bins], kind="dev"),
    ]
    panel = Panel(f"share right by confidence ({EVENTS[report.event]})", lines, x=Axis(low=0.0), y=Axis(low=0.0))
    title = f"reliability: ECE {report.before.error:.3f} before, {report.after.error:.3f} after"
    return line_chart(title, [panel])
