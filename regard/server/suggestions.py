"""Better translations that users send: pairs in a file that the next training can read (`--data.pairs`)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from regard.errors import UserError
from regard.server.refusal import Refusal

MOST_BYTES = 50_000_000  # of the file: strangers write it


class Suggestions:
    """Appends to a .jsonl file, a line a pair."""

    def __init__(self, path: Path) -> None:
        if path.suffix != ".jsonl":
            raise UserError(f"--suggestions {path}: the file is one of pairs, so its name must end in .jsonl")
        try:
            path.open("a", encoding="utf-8").close()
        except OSError as error:
            raise UserError(f"--suggestions {path} cannot be written ({error.strerror})") from None
        self._path = path
        self._lock = threading.Lock()

    def add(self, source: str, target: str, source_language: str, target_language: str) -> None:
        pair = {"source": source, "target": target, "languages": f"{source_language}-{target_language}"}
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            if file.tell() > MOST_BYTES:
                raise Refusal(403, "no more suggestions are taken: their file is full")
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
