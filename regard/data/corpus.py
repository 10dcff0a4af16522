"""Where the pairs come from: an embedded corpus, a folder, or the user's files; always as one Corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from regard.config import DataSettings, TokenizerSettings, near
from regard.data.captions import is_caption_file, read_captions
from regard.data.embedded import EMBEDDED, embedded_corpus
from regard.data.examples import Corpus, Example, Skipped, Task
from regard.data.files import Reading, read_pairs, read_parallel
from regard.data.image_codec import are_images
from regard.data.languages import read_languages
from regard.data.replay import with_replay
from regard.data.splits import carve, default_count, overlap
from regard.data.tagged import is_conllu, read_conllu
from regard.data.translation_files import is_translation_file, read_translation_pair, read_translation_pairs
from regard.data.whole_words import words_of
from regard.errors import UserError
from regard.formats.unit import LanguagePair

__all__ = ["Corpus", "Example", "Skipped", "Task", "load_corpus"]

# Few targets, each often: they are class names.
CLASSES_AT_MOST = 50
EXAMPLES_PER_CLASS = 10
# As many words on both sides of every pair, some to a sentence, and few different ones on one side: they are tags.
WORDS_PER_SENTENCE, WORDS_PER_TAG = 3, 4


def load_corpus(config: DataSettings) -> Corpus:
    """The corpus that the settings name, read or generated and split."""
    return with_replay(config, _load(config))


def _load(config: DataSettings) -> Corpus:
    given = config.source or config.pairs
    if config.corpus is None and given is None:
        raise UserError(
            "no data: give data.corpus (see `regard data list`), data.source and data.target, or data.pairs"
        )
    if config.corpus is None:
        train = _read(config, "")
        assert train is not None and given is not None
        folder = Path(given).parent
        return _assemble(config, _stem(given), folder, train, _read(config, "dev_"), _read(config, "test_"))
    if config.corpus in EMBEDDED:
        own = [key for key in ("dev_source", "dev_pairs", "test_source", "test_pairs") if getattr(config, key)]
        if own:
            raise UserError(f"data.{own[0]} is given, but data.corpus = {config.corpus!r} splits itself; keep one")
        if config.images:
            raise UserError(f"data.images is given, but data.corpus = {config.corpus!r} has its own; leave it out")
        return embedded_corpus(config)
    folder = Path(config.corpus)
    if not folder.is_dir():
        raise UserError(
            f"data.corpus = {config.corpus!r} is no embedded corpus and no folder{near(config.corpus, EMBEDDED)}; "
            f"embedded: {', '.join(EMBEDDED)}"
        )
    train = _from_folder(folder, "train")
    if train is None:
        raise UserError(
            f"{folder} has no train.tsv (or train.jsonl, train.conllu, .gz allowed); it is not a corpus folder"
        )
    dev, test = (_read(config, f"{split}_") or _from_folder(folder, split) for split in ("dev", "test"))
    corpus = _assemble(config, folder.resolve().name, folder, train, dev, test)
    return replace(corpus, languages=read_languages(folder))


def _read(config: DataSettings, split: str) -> Reading | None:
    """The files given for "" (train), "dev_" or "test_"; None where there are none."""
    source, target, pairs = (getattr(config, f"{split}{kind}") for kind in ("source", "target", "pairs"))
    if pairs:
        reading = read_pairs_of(config, pairs)
    elif source:
        reading = read_translation_pair(source, target) or read_parallel(source, target)
    else:
        return None
    return _not_empty(reading, pairs or f"{source} and {target}")


def read_pairs_of(config: DataSettings, path: str) -> Reading:
    """The pairs of a file or a folder, whatever its format. `config`: languages, and whether fuzzy units are taken."""
    if is_conllu(path):
        return read_conllu(path)
    if not Path(path).is_dir() and is_caption_file(path):
        return read_captions(path)
    if is_translation_file(path):
        languages = LanguagePair(config.source_language, config.target_language)
        return read_translation_pairs(path, languages, config.fuzzy)
    return read_pairs(path)


def _from_folder(folder: Path, split: str) -> Reading | None:
    for ending in (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz", ".conllu", ".conllu.gz"):
        path = folder / f"{split}{ending}"
        if path.is_file():
            return _not_empty(read_conllu(path) if is_conllu(path) else read_pairs(path), str(path))
    return None


def _not_empty(reading: Reading, files: str) -> Reading:
    if not reading.examples:
        reasons = Counter(example.why for example in reading.skipped)
        skipped = "".join(f"; {count:,} × {why}" for why, count in reasons.most_common(3))
        raise UserError(f"{files}: an empty corpus, no pair to use{skipped}")
    return reading


def _assemble(
    config: DataSettings, name: str, folder: Path, train: Reading, dev: Reading | None, test: Reading | None
) -> Corpus:
    """`folder`: where the training file is, and its images are, unless the settings say otherwise."""
    images = are_images([example.source for example in train.examples])
    if config.images and not images:
        odd = next(e.source for e in train.examples if not are_images([e.source]))
        raise UserError(f"data.images = {config.images!r}, but the source {odd!r} is no image's name; correct one")
    total = len(train.examples)
    carved = carve(
        train.examples,
        dev=0 if dev else config.dev_examples or default_count(total),
        test=0 if test else config.test_examples or default_count(total),
        seed=config.seed,
    )
    splits = {
        "train": carved.train,
        "dev": dev.examples if dev else carved.dev,
        "test": test.examples if test else carved.test,
    }
    notes: list[str] = []
    for reading in (train, dev, test):
        notes += reading.notes if reading else ()
    for split, given in (("dev", dev), ("test", test)):
        rows = splits[split]
        shared = overlap(splits["train"], rows)
        if shared:
            notes.append(f"{shared} of {len(rows)} {split} examples have a source that train has too")
        if given and getattr(config, f"{split}_examples"):
            notes.append(f"data.{split}_examples is not used: the {split} files are taken whole")
    if config.examples:
        notes.append("data.examples is not used: it is for embedded corpora; all pairs of the files are taken")
    task, why = _task(splits["train"])
    if images or train.task is not None:
        task, why = train.task or "captioning", ()
    skipped = [s for reading in (train, dev, test) if reading for s in reading.skipped]
    return Corpus(
        name=name,
        **splits,
        skipped=skipped,
        notes=(*why, *notes),
        task=task,
        tokenizer=TokenizerSettings(),  # chosen by what the text is like, when a run starts
        model={
            "translation": "transformer",
            "continuation": "transformer-language",
            "classification": "lstm-classifier",
            "tagging": "lstm-tagger",
            "captioning": "image-grid-transformer",
        }[task],
        images=Path(config.images or folder) if images else None,
    )


def _task(train: list[Example]) -> tuple[Task, tuple[str, ...]]:
    """What a user's corpus is for, and a note where that was guessed."""
    if not any(example.source for example in train):
        return "continuation", ("every source is empty: the targets are text to continue",)
    tags = Counter(tag for example in train for tag in words_of(example.target))
    words = {word for example in train for word in words_of(example.source)}
    rows = [len(words_of(example.source)) for example in train]
    if (
        rows == [len(words_of(example.target)) for example in train]
        and sum(rows) >= WORDS_PER_SENTENCE * len(rows)
        and len(tags) <= CLASSES_AT_MOST
        and WORDS_PER_TAG * len(tags) <= len(words)
    ):
        return "tagging", (f"every pair has as many targets as words, {len(tags)} different ones: they look like tags",)
    classes = Counter(example.target for example in train)
    few = len(classes) <= CLASSES_AT_MOST and len(train) >= EXAMPLES_PER_CLASS * len(classes)
    if few and len(classes) < len({example.source for example in train}):
        return "classification", (f"there are {len(classes)} different targets: they look like classes",)
    return "translation", ()


def _stem(path: str) -> str:
    return Path(path).name.split(".")[0] or Path(path).name
