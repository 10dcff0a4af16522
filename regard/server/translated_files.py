"""Files that clients send to be translated, and fetch when they are: kept for an hour, then deleted."""

from __future__ import annotations

import re
import tempfile
import time
import uuid
from collections import OrderedDict
from pathlib import Path

from regard.errors import UserError
from regard.formats.reading import ENDINGS
from regard.formats.unit import LanguagePair
from regard.pipeline.file_translation import FileOptions, translate_file
from regard.server.refusal import Refusal, bad
from regard.server.segments import segmented
from regard.server.translation import Translation

SECONDS, MOST = 3600, 200  # how long a file is kept, and how many are
FILE_ENDINGS = (".txt", *ENDINGS)
NAME = re.compile(r"[0-9a-f-]{36}\.[\w.-]{1,200}")


class TranslatedFiles:
    """In a folder of this server alone, which goes with it."""

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._folder = tempfile.TemporaryDirectory(prefix="regard-files-")
        self._made: OrderedDict[str, float] = OrderedDict()

    async def translate(self, name: str, content: bytes, source: str, target: str) -> str:
        """The name under which the translated file can be fetched."""
        ending = Path(name).suffix.lower()
        if ending not in FILE_ENDINGS:
            raise bad(f"Invalid request: file format not supported; send one of {', '.join(FILE_ENDINGS)}")
        stem = re.sub(r"[^\w-]+", "_", Path(name).stem, flags=re.ASCII)[:80]
        made = f"{uuid.uuid4()}.{stem}_{re.sub('[^a-zA-Z-]', '', target)[:20]}{ending}"
        path = Path(self._folder.name) / made
        if ending == ".txt":
            path.write_text(await self._text(content, source, target), encoding="utf-8", newline="")
        else:
            await self._units(content, path, source, target)
        self._forget()
        self._made[made] = time.monotonic()
        return made

    def path(self, name: str) -> Path:
        """Where a translated file is; refused where it is none, or no longer."""
        self._forget()
        if not NAME.fullmatch(name) or name not in self._made:
            raise bad("Invalid filename; files are kept for an hour")
        return Path(self._folder.name) / name

    async def _text(self, content: bytes, source: str, target: str) -> str:
        """Line by line."""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise bad("file: it is not UTF-8; convert it") from None
        document = segmented(text)
        model = self._translation.model(source, target)
        if model is None:
            return text
        results = await self._translation.results(model, document.segments, model.pipeline.search)
        return document.joined([result.text for result in results])

    async def _units(self, content: bytes, path: Path, source: str, target: str) -> None:
        """Of a translators' file: what has no target gets one."""
        model = self._translation.model(source, target)
        if model is None:
            raise bad("source and target are one language; there is nothing to translate")
        given = Path(self._folder.name) / f"given-{path.name}"
        given.write_bytes(content)
        pair = model.pair
        options = FileOptions(
            languages=LanguagePair(pair.source, pair.target) if pair else LanguagePair(source, target)
        )
        try:
            await self._translation.service.run(lambda: translate_file(model.pipeline, given, path, options))
        except Refusal as error:
            raise Refusal(error.status_code, error.message.replace(str(given), "file")) from None
        except UserError as error:
            raise bad(str(error).replace(str(given), "file")) from None
        finally:
            given.unlink(missing_ok=True)

    def _forget(self) -> None:
        """Delete what is old, and the oldest of too many."""
        now = time.monotonic()
        while self._made:
            name, since = next(iter(self._made.items()))
            if now - since < SECONDS and len(self._made) < MOST:
                break
            del self._made[name]
            (Path(self._folder.name) / name).unlink(missing_ok=True)

    def close(self) -> None:
        self._folder.cleanup()
