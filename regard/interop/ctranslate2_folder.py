"""A folder for CTranslate2, with the tokenizers beside the model.

config.json, model.bin, *_vocabulary.json     what ctranslate2.Translator loads
source.tokenizer.json, target.tokenizer.json  what tokenizers.Tokenizer.from_file loads; its pieces are the model's
source.spm, target.spm                        of an imported model, in their place: what sentencepiece loads
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as Engine

from regard.checkpoint import Run
from regard.data.examples import Example
from regard.data.sentencepiece import SentencePieceTokenizer
from regard.data.tokenizer import Tokenizer
from regard.data.vocabulary import BOS, EOS, PAD, SPECIALS
from regard.errors import UserError
from regard.files import write_bytes, write_text
from regard.inference.ctranslate2.conversion import Precision, specification, unsuited
from regard.inference.ctranslate2.vocabularies import Entries, Vocabularies
from regard.interop.identity import PieceIdentity, compare_pieces, joined
from regard.interop.model_card import CARD, model_card
from regard.interop.places import new_folder
from regard.models.seq2seq import Seq2Seq

USAGE = "ctranslate2.Translator(FOLDER).translate_batch([tokens of source.tokenizer.json])"
TextTokenizer = Tokenizer | SentencePieceTokenizer
NAMES = ("source.tokenizer.json", "target.tokenizer.json")


def write_ctranslate2(run: Run, place: Path, precision: Precision, force: bool) -> PieceIdentity:
    """The folder, whole; and how far its tokenizers are ours."""
    model = translation_model(run)
    source, target = text_tokenizers(run)
    names = Vocabularies(
        _entries(source), _entries(target), SPECIALS[BOS], SPECIALS[EOS], unknown=_unknown(source), adds_eos=True
    )
    with new_folder(place) as folder:
        specification(model, run.plan.model, names, precision).save(str(folder))
        sides = []
        for name, tokenizer, texts in zip(NAMES, (source, target), dev_texts(run), strict=True):
            if isinstance(tokenizer, SentencePieceTokenizer):  # as it came
                write_bytes(folder / f"{name.partition('.')[0]}.spm", tokenizer.proto)
                sides.append(compare_pieces(texts, tokenizer.encode, tokenizer.encode))
                continue
            write_text(folder / name, tokenizer.engine.to_str())
            written = Engine.from_file(str(folder / name))
            sides.append(compare_pieces(texts, tokenizer.encode, lambda text, engine=written: _ids(engine, text)))
        identity = joined(sides)
        identity.require(force)
        write_text(folder / CARD, model_card(run, USAGE))
    return identity


def translation_model(run: Run) -> Seq2Seq:
    """The run's model where CTranslate2 can run it; else the reason and what would fit."""
    problem = unsuited(run.plan.model, run.model)
    if problem is not None:
        remedy = "" if "pip install" in problem else "; train such a model, or distil this one into one"
        raise UserError(f"{run.path}: {problem}{remedy}")
    assert isinstance(run.model, Seq2Seq)
    return run.model


def text_tokenizers(run: Run) -> tuple[TextTokenizer, TextTokenizer]:
    """Of source and target."""
    source, target = run.source_codec, run.target_codec
    assert isinstance(source, TextTokenizer) and isinstance(target, TextTokenizer), "a translation model has two texts"
    return source, target


def dev_texts(run: Run) -> tuple[list[str], list[str]]:
    """The sources and the targets that were held out."""
    examples: list[Example] = run.examples("dev")
    return [example.source for example in examples], [example.target for example in examples]


def _unknown(tokenizer: TextTokenizer) -> str:
    """What CTranslate2 takes for a piece that it does not know; ours have none that is not known."""
    if isinstance(tokenizer, SentencePieceTokenizer):
        return tokenizer.model.pieces[tokenizer.model.unknown].text
    return SPECIALS[PAD]


def _entries(tokenizer: TextTokenizer) -> Entries:
    ids = range(tokenizer.size)
    if isinstance(tokenizer, SentencePieceTokenizer):
        return Entries(tokenizer.vocabulary, ids, silent=(PAD, BOS))
    return Entries([tokenizer.engine.id_to_token(i) or "" for i in ids], ids, silent=(PAD, BOS))


def _ids(engine: Engine, text: str) -> list[int]:
    return engine.encode(text, add_special_tokens=False).ids
