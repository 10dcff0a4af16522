"""What a run learns, which decides how it is learned."""

from __future__ import annotations

from typing import Literal

from regard.config import ModelPlan, TokenizerPlan
from regard.config.values import IMAGE_ENCODERS
from regard.experiment.tokenizer_defaults import SPELT

# sentences: texts with many right answers. strings: short outputs of a user's own pairs that are right or wrong, such
# as the sounds of words, inflected forms, names of images. rules: exact answers that follow from the source, as in
# embedded corpora. classes: one of a few labels.
Goal = Literal["sentences", "strings", "rules", "classes"]


def goal_of(model: ModelPlan, tokenizer: TokenizerPlan, metric: str, embedded: bool) -> Goal:
    """By the model, what text is cut into, and the metric. `embedded`: the corpus is one of regard's own."""
    if model.decoder == "none":
        return "classes"
    if metric in ("bleu", "chrf"):
        return "sentences"
    image = model.encoder in IMAGE_ENCODERS
    own = metric == "exact" and not embedded and model.encoder != "none"
    return "strings" if own and (image or SPELT.issuperset(tokenizer.kinds)) else "rules"
