"""The development and test examples that a run keeps: it needs no other file to be used and measured."""

from __future__ import annotations

from pathlib import Path

from regard.data.embedded.scene import is_scene
from regard.data.examples import Example
from regard.data.image_store import ImageCodec, split_reference
from regard.data.images import Unreadable, write_png
from regard.experiment.setup import Setup
from regard.files import cannot_write

FOLDER = "pictures"


def held_out_pairs(setup: Setup, out: Path) -> dict[str, list[Example]]:
    """By split. Pictures from files are put into the run in the size that the model reads, under a number."""
    given = {"dev": setup.corpus.dev, "test": setup.corpus.test}
    reader = setup.source
    if not isinstance(reader, ImageCodec) or all(is_scene(one.source) for rows in given.values() for one in rows):
        return given
    try:
        (out / "data" / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from None
    places: dict[str, str | None] = {}
    kept = {split: [_keep(example, reader, places, out / "data") for example in rows] for split, rows in given.items()}
    lost = sum(example is None for rows in kept.values() for example in rows)
    if lost:
        setup.skipped["held-out pairs without a readable picture"] = lost
    return {split: [example for example in rows if example is not None] for split, rows in kept.items()}


def _keep(example: Example, reader: ImageCodec, places: dict[str, str | None], folder: Path) -> Example | None:
    name, word = split_reference(example.source)
    if name not in places:
        pixels = reader.view(example.source, reader.image_size)
        places[name] = None if isinstance(pixels, Unreadable) else f"{FOLDER}/{len(places):05}.png"
        if not isinstance(pixels, Unreadable):
            write_png(folder / f"{places[name]}", pixels)
    stored = places[name]
    return None if stored is None else Example(f"{stored}#{word}" if word else stored, example.target)
