"""Caption files that others publish: COCO's JSON, Flickr8k's text, and the CSV that is passed around of it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from regard.data.files import Reading, read_lines, without_empty
from regard.data.images import SUFFIXES
from regard.errors import UserError

IMAGE_LINE = re.compile(rf"[^\t,]+({'|'.join(map(re.escape, SUFFIXES))})(#\d+\t|,)", re.IGNORECASE)
Row = tuple[str, str, str]  # where, the image's name, the caption


def is_caption_file(path: str | Path) -> bool:
    """Whether this is JSON, or text whose first lines name an image."""
    kind = Path(path).suffix.lower()
    if kind not in (".txt", ".csv"):
        return kind == ".json"
    try:
        return any(IMAGE_LINE.match(line) for line in islice(read_lines(path), 2))
    except UserError:  # not UTF-8; its reader says so
        return False


def read_captions(path: str | Path) -> Reading:
    """A pair for every caption of every image."""
    rows = _coco(path) if Path(path).suffix.lower() == ".json" else _lines(path)
    return without_empty([(where, name, " ".join(caption.split())) for where, name, caption in rows])


def _coco(path: str | Path) -> Iterator[Row]:
    """{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}  (Lin 2014)."""
    text = "\n".join(read_lines(path))
    try:
        tree = json.loads(text)
        names = {image["id"]: str(image["file_name"]) for image in tree["images"]}
        captions = [(note["image_id"], str(note["caption"])) for note in tree["annotations"]]
    except (ValueError, RecursionError, KeyError, TypeError, IndexError) as error:
        wanted = "'images' with id and file_name, and 'annotations' with image_id and caption"
        raise UserError(f"{path}: not a caption file of COCO ({error!r}); it needs {wanted}") from None
    for number, (image, caption) in enumerate(captions, start=1):
        if image not in names:
            raise UserError(
                f"{path}: annotation {number} is of image_id = {image!r}, which is not in 'images'; repair it"
            )
        yield f"{path}: annotation {number}", names[image], caption


def _lines(path: str | Path) -> Iterator[Row]:
    """name.jpg#0 TAB caption  (Hodosh 2013); or name.jpg,caption below a line that says so."""
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        if not line.strip() or (number == 1 and line.strip() == "image,caption"):
            continue
        name, tab, caption = line.partition("\t")
        if tab:
            yield where, name.rpartition("#")[0] or name, caption
            continue
        columns = next(csv.reader([line]))
        if len(columns) < 2:
            raise UserError(f"{where}: no caption; write the image's name, TAB (or comma), caption")
        yield where, columns[0], ",".join(columns[1:])
