"""A tiny corpus, and fresh models for it: what the tests of training begin with."""

from __future__ import annotations

from regard.config import TrainingPlan, plan_model, settle
from regard.data.batches import Pairs, encode_pairs
from regard.data.corpus import Example
from regard.data.tokenizer import Tokenizer
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.threads import configure_torch
from regard.training.state import TrainingState, new_state
from regard.training.team import Team, team_sizes

EXAMPLES = [Example(text, text[::-1]) for text in (f"{i * 7919 % 1000}" * (1 + i % 3) for i in range(60))]
TOKENIZER = Tokenizer.train([e.source for e in EXAMPLES], "character", 300)
PAIRS: Pairs = encode_pairs(EXAMPLES, TOKENIZER, TOKENIZER, 50)[0]


def fresh(training: TrainingPlan, preset: str = "transformer", **fields: float) -> TrainingState:
    """Two small layers with much dropout, before the first step."""
    configure_torch(1)
    small = {"preset": preset, "width": 16, "heads": 2, "depth": 2, "dropout": 0.3, "attention_dropout": 0.1, **fields}
    model = fuse(
        build_model(plan_model(settle({"model": small}).model), TOKENIZER.size, TOKENIZER.size, True, training.seed)
    )
    return new_state(model, training)


def team(state: TrainingState, pairs: Pairs, training: TrainingPlan) -> Team:
    """The one that is set, or the usual one."""
    return Team(team_sizes(training)[0], state, pairs, training)
