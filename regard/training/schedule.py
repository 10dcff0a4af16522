"""The learning rate as a pure function of the step: nothing to save, nothing to restore."""

from __future__ import annotations

import math

from regard.config import TrainingPlan


def learning_rate(step: int, training: TrainingPlan, total: int | None = None) -> float:
    """The rate of update `step` (the first is 1), with peak r, warm-up w and `total` updates in all.

    step ≤ w       r · step / w                                        linear warm-up
    inverse-sqrt   r · √(w / step)                                     Vaswani 2017, section 5.3
    cosine         r · ½ (1 + cos(π · (step - w) / (total - w)))       Loshchilov 2017, without restarts
    constant       r
    """
    peak, warmup = training.rate, training.warmup_steps
    assert step >= 1
    if step <= warmup:
        return peak * step / warmup
    match training.schedule:
        case "inverse-sqrt":
            return peak * math.sqrt(max(warmup, 1) / step)
        case "cosine":
            assert total is not None, "a cosine needs to know its end"
            done = min((step - warmup) / max(total - warmup, 1), 1.0)
            return peak * 0.5 * (1 + math.cos(math.pi * done))
        case "constant":
            return peak
