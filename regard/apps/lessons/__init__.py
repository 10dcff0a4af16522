"""The lessons: one file per claim of the lectures; what it says, the experiment, the verdict."""

from regard.apps.lessons.contract import Finding, Lesson, Setting, Size, Table, Verdict
from regard.apps.lessons.index import LESSONS, find_lesson
from regard.apps.lessons.report import Held
from regard.apps.lessons.teach import teach
from regard.apps.lessons.trials import Trials

__all__ = [
    "LESSONS",
    "Finding",
    "Held",
    "Lesson",
    "Setting",
    "Size",
    "Table",
    "Trials",
    "Verdict",
    "find_lesson",
    "teach",
]
