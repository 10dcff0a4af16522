"""The lessons: one file for each claim of the lectures, with its experiment and its verdict."""

from regard.apps.lessons.index import LESSONS, find_lesson
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Size, Table, Verdict
from regard.apps.lessons.report import LessonResult
from regard.apps.lessons.run import run_lessons
from regard.apps.lessons.worker_pool import WorkerPool

__all__ = [
    "LESSONS",
    "Budget",
    "Finding",
    "Lesson",
    "LessonResult",
    "Size",
    "Table",
    "Verdict",
    "WorkerPool",
    "find_lesson",
    "run_lessons",
]
