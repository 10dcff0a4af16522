"""Sequence-level distillation (Kim & Rush 2016): a student learns from its teacher's outputs, not from the references.

What the teacher writes is plainer and more consistent, so a smaller or shallower student learns it better.
"""

from __future__ import annotations

from pathlib import Path

from regard.config import DataConfig
from regard.data.corpus import Example, load_corpus
from regard.data.files import write_pairs
from regard.errors import UserError
from regard.pipeline.contract import Pipeline, Progress

CHUNK = 1024


def distil(teacher: Pipeline, data: DataConfig, folder: Path, progress: Progress | None = None) -> int:
    """A corpus folder whose training targets are the teacher's outputs; dev and test keep their references.

    Returns how many training pairs were left out because the teacher's output is empty, unfinished or impossible.
    """
    if teacher.run.task != "translation":
        raise UserError(f"{teacher.run.path} does {teacher.run.task}; only a translator can teach by its outputs")
    corpus = load_corpus(data)
    taught: list[Example] = []
    for first in range(0, len(corpus.train), CHUNK):
        sources = [example.source for example in corpus.train[first : first + CHUNK]]
        results = teacher.translate_all(sources, teacher.search_with(n_best=1), progress)
        found = zip(sources, results, strict=True)
        taught += [Example(source, one.text) for source, one in found if one.text.strip() and one.finished]
    if not taught:
        raise UserError(f"{teacher.run.path}: not one of {len(corpus.train)} outputs ended; train the teacher longer")
    folder.mkdir(parents=True, exist_ok=True)
    for split, examples in (
        ("dev", corpus.dev),
        ("test", corpus.test),
        ("train", taught),
    ):  # train last: then it is whole
        write_pairs(folder / f"{split}.jsonl", examples)
    return len(corpus.train) - len(taught)
