"""All lessons, in the order of the lectures."""

from __future__ import annotations

from regard.config.load import near
from regard.errors import UserError
from regard.lessons import alignment, bottleneck, hidden_positions, norm, order, parameters, retrieval
from regard.lessons.contract import Lesson

LESSONS: tuple[Lesson, ...] = (
    bottleneck.LESSON,
    alignment.LESSON,
    order.LESSON,
    hidden_positions.LESSON,
    norm.LESSON,
    parameters.LESSON,
    retrieval.LESSON,
)


def find_lesson(name: str) -> Lesson:
    """By name; a typo is answered with what there is."""
    known = {lesson.name: lesson for lesson in LESSONS}
    if name not in known:
        raise UserError(
            f"there is no lesson {name!r}{near(name, known)}; `regard lesson` lists them, `all` runs them all"
        )
    return known[name]
