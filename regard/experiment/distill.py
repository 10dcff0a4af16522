"""Sequence-level knowledge distillation (Kim & Rush 2016): a student learns from its teacher's outputs, too.

The teacher's outputs are plainer and more consistent than the references, so a smaller or shallower student learns them
better. Of all hypotheses of the teacher's beam for a source, the student is given the one nearest to the reference
(section 3.3: interpolation), and the reference, too: two ways to say the same are harder to memorise than one
(docs/experiments/students-and-ensembles.md#students-of-two-models).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.config import DataSettings, Settings
from regard.data.corpus import Example, load_corpus
from regard.data.files import write_pairs
from regard.data.languages import write_languages
from regard.errors import UserError
from regard.evaluation.metrics import nearest
from regard.experiment.init_from import inherit_settings, is_of_a_kind
from regard.experiment.resume import FILES
from regard.inference import ProgressCallback
from regard.pipeline import load
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import Result

CHUNK = 1024


def taught(
    config: Settings, teachers: Sequence[Path], folder: Path, progress: ProgressCallback | None = None
) -> tuple[Settings, int]:
    """The settings of a student, on the corpus that `distil` writes into `folder`; and how many sources have no output.

    The student starts from the weights of a single teacher of its kind and width.
    """
    training = inherit_settings(config).training  # a bad init_from is refused before the teacher translates
    if len(teachers) == 1 and training.init_from is None and is_of_a_kind(config, teachers[0]):
        training = training.model_copy(update={"init_from": str(teachers[0])})
    engine = training.distill_engine
    if engine != "torch" and len(teachers) > 1:
        raise UserError(f"training.distill_engine = {engine!r}: several teachers are decoded by torch; leave it out")
    teacher = load(teachers[0], engine=engine, ensemble=teachers[1:])
    left_out = distil(teacher, config.data, folder, progress)
    data = config.data.model_copy(update=dict.fromkeys(FILES) | {"corpus": str(folder)})
    return config.model_copy(update={"data": data, "training": training}), left_out


def distil(teacher: Pipeline, data: DataSettings, folder: Path, progress: ProgressCallback | None = None) -> int:
    """Write a corpus whose training pairs are the references and the teacher's outputs; dev and test do not change.

    Returns how many training sources have their reference alone, since all outputs are empty or unfinished.
    """
    if teacher.run.task != "translation":
        raise UserError(f"{teacher.run.path} does {teacher.run.task}; only a translator can teach by its outputs")
    corpus = load_corpus(data)
    search = teacher.search_with(n_best=1 if teacher.search.sample else teacher.search.beams)
    outputs: list[Example] = []
    for first in range(0, len(corpus.train), CHUNK):
        examples = corpus.train[first : first + CHUNK]
        results = teacher.translate_all([example.source for example in examples], search, progress)
        for example, result in zip(examples, results, strict=True):
            texts = _finished_texts(result)
            if texts:
                outputs.append(Example(example.source, texts[nearest(texts, example.target)]))
    if not outputs:
        raise UserError(f"{teacher.run.path}: not one of {len(corpus.train)} outputs ended; train the teacher longer")
    folder.mkdir(parents=True, exist_ok=True)
    if corpus.languages is not None:
        write_languages(folder, *corpus.languages)
    for split, examples in (
        ("dev", corpus.dev),
        ("test", corpus.test),
        ("train", [*outputs, *corpus.train]),
    ):  # train last: a folder with it is complete
        write_pairs(folder / f"{split}.jsonl", examples)
    return len(corpus.train) - len(outputs)


def _finished_texts(result: Result) -> list[str]:
    """The outputs that ended by EOS, the most probable first."""
    hypotheses = result.alternatives or (result,)
    return [hypothesis.text for hypothesis in hypotheses if hypothesis.text.strip() and hypothesis.finished]
