"""The development and test examples that a run keeps: it needs no other file to be used and measured."""

from __future__ import annotations

from pathlib import Path

from regard.checkpoint import PICTURES
from regard.data.embedded.scene import is_scene
from regard.data.examples import Example
from regard.data.image_codec import read_view, split_reference
from regard.data.images import Unreadable, write_png
from regard.experiment.setup import Setup
from regard.files import cannot_write


def held_out_pairs(setup: Setup, out: Path) -> dict[str, list[Example]]:
    """By split. Images from files are put into the run in the size that the model reads, under a number."""
    pairs = {"dev": setup.corpus.dev, "test": setup.corpus.test}
    folder, side = setup.corpus.images, setup.plan.model.image_size
    if folder is None or all(is_scene(example.source) for examples in pairs.values() for example in examples):
        return pairs
    try:
        (out / "data" / PICTURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from None
    stored: dict[str, str | None] = {}  # by name, None where the image cannot be read
    for example in (example for examples in pairs.values() for example in examples):
        name = split_reference(example.source)[0]
        if name not in stored:
            pixels = read_view(example.source, side, folder)
            stored[name] = None if isinstance(pixels, Unreadable) else f"{PICTURES}/{len(stored):05}.png"
            if not isinstance(pixels, Unreadable):
                write_png(out / "data" / f"{stored[name]}", pixels)
    kept = {split: [_stored(example, stored) for example in examples] for split, examples in pairs.items()}
    lost = sum(example is None for examples in kept.values() for example in examples)
    if lost:
        setup.skipped["held-out pairs without a readable image"] = lost
    return {split: [example for example in examples if example is not None] for split, examples in kept.items()}


def _stored(example: Example, stored: dict[str, str | None]) -> Example | None:
    """The example with the name under which its image is stored."""
    name, word = split_reference(example.source)
    path = stored[name]
    return None if path is None else Example(f"{path}#{word}" if word else path, example.target)
