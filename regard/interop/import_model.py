"""Another program's model as a run: which formats there are, and the one function that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from regard.errors import UserError
from regard.interop.imported import ImportedModel, Origin
from regard.interop.opus_mt import read_opus_mt
from regard.interop.opus_zip import is_opus_package, read_opus_package
from regard.interop.places import check_place

ImportFormat = Literal["opus-mt"]
PICKLED = {  # how a file of weights is named, and by whom
    "checkpoint*.pt": "fairseq",
    "*.ckpt": "JoeyNMT",
    "*step_*.pt": "OpenNMT-py",
    "params.*": "sockeye",
    "*.pt": "a program that pickles",
}
OTHERS = {
    "model.00.safetensors": "eole",
    "model.bin": "CTranslate2",
    "rust_model.ot": "rust-bert",
    "tf_model.h5": "Keras",
}


@dataclass(frozen=True)
class ImportResult:
    """What was written, and where it comes from."""

    path: Path
    origin: Origin
    parameters: int

    def summary(self) -> list[str]:
        """For people, a line each."""
        source, target = (language or "?" for language in self.origin.languages)
        return [
            f"imported {self.origin.name} ({source} to {target}, {self.parameters:,} parameters) into {self.path}",
            f"licence: {self.origin.licence or 'not stated; ask who made it'}",
            f"next: regard translate {self.path} TEXT",
            f"      regard train --data.pairs FILE --training.init-from {self.path}",
        ]


def import_model(folder: Path | str, out: Path | str, kind: ImportFormat = "opus-mt") -> ImportResult:
    """Write the model in `folder` as a run into `out`, which must not be there."""
    place = Path(out)
    if kind not in get_args(ImportFormat):
        raise UserError(f"{kind!r} cannot be imported; what can: {', '.join(get_args(ImportFormat))}")
    check_place(place)
    found = read_model(Path(folder))
    model = found.write(place)
    return ImportResult(place, found.origin, sum(parameter.numel() for parameter in model.parameters()))


def read_model(folder: Path) -> ImportedModel:
    """The model in a folder or a zip, whichever of the known layouts it has."""
    if is_opus_package(folder):
        return read_opus_package(folder)
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; give the one that holds config.json and model.safetensors")
    if not (folder / "config.json").is_file() or not (folder / "vocab.json").is_file():
        _refuse_others(folder)
    return read_opus_mt(folder)


def is_foreign(folder: Path) -> bool:
    """Whether this is a model of another program that can be imported."""
    return is_opus_package(folder) or ((folder / "config.json").is_file() and (folder / "source.spm").is_file())


def _refuse_others(folder: Path) -> None:
    """By name, where the files tell whose they are."""
    for pattern, program in PICKLED.items():
        if any(folder.glob(pattern)):
            raise UserError(
                f"{folder} holds weights of {program}, which are pickled; only OPUS-MT models with safetensors or npz "
                "can be imported"
            )
    for name, program in OTHERS.items():
        if (folder / name).is_file():
            raise UserError(f"{folder} holds a model of {program}, which cannot be imported; OPUS-MT models can")
