"""All lessons, in the order of the lectures."""

from __future__ import annotations

from regard.apps.lessons import (
    alignment,
    antecedent,
    any_output,
    bottleneck,
    captioning,
    gates,
    gradients,
    heads,
    hidden_positions,
    layers_or_heads,
    lookahead,
    mask,
    norm,
    order,
    parameters,
    positions,
    residuals,
    retrieval,
    scaling,
    scores,
    teacher_forcing,
    three_ways,
)
from regard.apps.lessons.lesson import Lesson
from regard.config.load import near
from regard.errors import UserError

LESSONS: tuple[Lesson, ...] = (
    bottleneck.LESSON,
    gates.LESSON,
    alignment.LESSON,
    scores.LESSON,
    scaling.LESSON,
    heads.LESSON,
    layers_or_heads.LESSON,
    antecedent.LESSON,
    any_output.LESSON,
    order.LESSON,
    positions.LESSON,
    mask.LESSON,
    hidden_positions.LESSON,
    norm.LESSON,
    residuals.LESSON,
    lookahead.LESSON,
    three_ways.LESSON,
    teacher_forcing.LESSON,
    parameters.LESSON,
    gradients.LESSON,
    retrieval.LESSON,
    captioning.LESSON,
)


def find_lesson(name: str) -> Lesson:
    """The lesson of this name; an unknown name is refused with the nearest one."""
    known = {lesson.name: lesson for lesson in LESSONS}
    if name not in known:
        raise UserError(
            f"there is no lesson {name!r}{near(name, known)}; `regard lesson` lists them, `all` runs them all"
        )
    return known[name]
