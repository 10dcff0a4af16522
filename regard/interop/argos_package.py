"""A package for Argos Translate and LibreTranslate (.argosmodel): a zip with one folder.

metadata.json                     the languages, with names
model/                            what ctranslate2.Translator loads; its vocabulary is the pieces of the next file
sentencepiece.model               our tokenizer as SentencePiece reads it; one for both sides
minisbd/never_split.onnx          so that a text is translated whole; without it Argos downloads a splitter
README.md                         the model card
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from babel import Locale, UnknownLocaleError

from regard.checkpoint import Run
from regard.data.sentencepiece.codec import SentencePieceTokenizer
from regard.data.sentencepiece.model_file import model_bytes
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS, EOS, SPECIALS
from regard.errors import UserError
from regard.inference.ctranslate2.conversion import Precision, specification
from regard.inference.ctranslate2.vocabularies import Vocabularies
from regard.interop.ctranslate2_folder import dev_texts, translation_model
from regard.interop.identity import PieceIdentity, compare_pieces, joined
from regard.interop.model_card import CARD, model_card
from regard.interop.never_split import never_split
from regard.interop.piece_models import UNKNOWN_PIECE, WrittenPieces, written_pieces
from regard.interop.places import new_file

ARGOS_USAGE = "python -c \"import argostranslate.package as p; p.install_from_path('FILE')\""
PACKAGE_VERSION, ARGOS_VERSION = "1.0", "1.12"
WRITTEN_AT = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can hold: the same run gives the same file


@dataclass(frozen=True)
class ArgosLanguages:
    source: str
    target: str

    @property
    def folder(self) -> str:
        return f"translate-{self.source}_{self.target}-{PACKAGE_VERSION.replace('.', '_')}"

    def metadata(self) -> dict[str, str]:
        return {
            "package_version": PACKAGE_VERSION,
            "argos_version": ARGOS_VERSION,
            "type": "translate",
            "from_code": self.source,
            "from_name": _english_name(self.source),
            "to_code": self.target,
            "to_name": _english_name(self.target),
        }


def write_argos(run: Run, place: Path, precision: Precision, force: bool) -> PieceIdentity:
    """The package, whole; and how far its tokenizer is ours."""
    model = translation_model(run)
    tokenizer, languages = _only_tokenizer(run), _languages(run)
    written = written_pieces(tokenizer)
    proto = model_bytes(written.model)
    identity = _identity(run, tokenizer, written, proto)
    identity.require(force)
    names = Vocabularies(
        written.entries, written.entries, SPECIALS[BOS], SPECIALS[EOS], unknown=UNKNOWN_PIECE, adds_eos=True
    )
    texts = {
        "metadata.json": json.dumps(languages.metadata(), ensure_ascii=False, indent=2).encode() + b"\n",
        "sentencepiece.model": proto,
        "minisbd/never_split.onnx": never_split(languages.source),
        CARD: model_card(run, ARGOS_USAGE).encode(),
    }
    with tempfile.TemporaryDirectory() as scratch, new_file(place) as part, ZipFile(part, "w") as package:
        specification(model, run.plan.model, names, precision).save(scratch)
        for name, content in texts.items():
            package.writestr(_entry(f"{languages.folder}/{name}"), content)
        for file in sorted(Path(scratch).iterdir()):
            package.writestr(_entry(f"{languages.folder}/model/{file.name}"), file.read_bytes())
    return identity


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name, WRITTEN_AT)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _only_tokenizer(run: Run) -> Tokenizer:
    """The one of both sides; else the reason and the setting that would fit."""
    source, target = run.source_codec, run.target_codec
    if not (isinstance(source, Tokenizer) and isinstance(target, Tokenizer)):
        raise UserError(f"{run.path}: an imported model has a tokenizer for each side; export it to ctranslate2")
    if not source.same_as(target):
        raise UserError(f"{run.path}: Argos has one tokenizer for both sides; train with tokenizer.shared = true")
    if source.placeholders is not None:
        raise UserError(f"{run.path}: Argos does not mask placeholders; train with tokenizer.placeholders = false")
    return source


def _languages(run: Run) -> ArgosLanguages:
    data = run.plan.data
    if data.source_language is None or data.target_language is None:
        missing = "source_language" if data.source_language is None else "target_language"
        raise UserError(f"{run.path}: Argos chooses a package by its languages; train with data.{missing}")
    return ArgosLanguages(data.source_language, data.target_language)


def _english_name(code: str) -> str:
    """A code that Unicode's data do not know is its own name."""
    try:
        return Locale.parse(code, sep="-").get_display_name("en") or code
    except (ValueError, UnknownLocaleError):
        return code


def _identity(run: Run, tokenizer: Tokenizer, written: WrittenPieces, proto: bytes) -> PieceIdentity:
    """Of the pieces of both sides: targets are counted too, since a piece that cannot be said is never written."""
    reader = SentencePieceTokenizer(proto, [*SPECIALS, *written.entries.names], str(run.path))

    def ours(text: str) -> list[str]:
        return [written.names.get(i, str(i)) for i in tokenizer.encode(text)]

    def theirs(text: str) -> list[str]:
        return [piece for piece, _ in reader.pieces(text)]

    return joined(compare_pieces(texts, ours, theirs) for texts in dev_texts(run))
