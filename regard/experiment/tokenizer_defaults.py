"""Which tokenizer each side gets where that is left open, by what its texts are made of."""

from __future__ import annotations

from regard.config import ModelPlan, TokenizerSettings
from regard.config.values import IMAGE_ENCODERS
from regard.data.inventory import Inventory
from regard.experiment.choice import Choice, Choices
from regard.experiment.corpus_statistics import CorpusStatistics

SPELT = {"character", "decomposed", "symbol"}  # kinds of tokenizer
SHORT = 25  # tokens in the mean, of the longer side, below which texts are spelt
SEEN_ONCE = 0.05  # share of the words of captions above which they are put together of pieces
SIZES, MOST_PIECES = ((120_000, 1000), (480_000, 2000), (1_200_000, 4000)), 8000  # below so many characters: pieces


def choose_tokenizer(
    model: ModelPlan, given: TokenizerSettings, suggested: TokenizerSettings, statistics: CorpusStatistics
) -> Choices:
    """By what the corpus suggests, or else by the text of each side."""
    suits = "what suits this corpus"
    kinds: Choices = {}
    if suggested.kind is not None:
        kinds["kind"] = Choice(suggested.kind, suits)
    elif statistics.cells:
        once = f"{statistics.words_once:.0%} of the words of captions are seen once"
        kinds["kind"] = Choice("bpe" if statistics.words_once > SEEN_ONCE else "word", once)
    else:
        kinds = _choose_kinds(model, given, statistics)
    used = {given.kind or kinds["kind"].value, *(kind.value for kind in kinds.values())}
    if suggested.size is not None and suggested.kind in used:  # the suggested size belongs to the suggested kind
        size = Choice(suggested.size, suits)
    else:
        size = Choice(_size(used, statistics), f"for {statistics.text:,.0f} characters of text")
    return {**kinds, "size": size, "shared": _choose_shared(kinds, given, suggested, statistics)}


def _choose_kinds(model: ModelPlan, given: TokenizerSettings, statistics: CorpusStatistics) -> Choices:
    """One kind, that of the targets; and that of the sources, where it differs and none was given."""
    short = statistics.length < SHORT
    source, target = (_kind(side, short) for side in (statistics.source, statistics.target))
    if model.decoder == "none":
        return {"kind": source}
    if (model.encoder == "none" or model.pointer) and statistics.source.letters and source.value != target.value:
        return {"kind": Choice("character" if short else "bpe", "this model has one vocabulary")}
    if given.kind is not None or source.value == target.value:
        return {"kind": target}
    return {"kind": target, "source_kind": source}


def _kind(side: Inventory, short: bool) -> Choice:
    if side.symbols:
        what = "tags beside a word that is spelt" if side.tags else "symbols parted by spaces"
        return Choice("symbol", f"{len(side.symbols)} {what}")
    length = f"{side.length:.0f} characters in the mean"
    if not short:
        return Choice("bpe", f"text, {length}")
    if side.parts is not None:
        return Choice("decomposed", f"{len(side.letters):,} letters made of {side.parts}; short strings, {length}")
    return Choice("character", f"short strings, {length}")


def _choose_shared(
    kinds: Choices, given: TokenizerSettings, suggested: TokenizerSettings, statistics: CorpusStatistics
) -> Choice:
    if suggested.shared is not None:
        return Choice(suggested.shared, "what suits this corpus")
    kind = given.kind or kinds["kind"].value
    source = given.source_kind or (kinds["source_kind"].value if "source_kind" in kinds else kind)
    if source != (given.target_kind or kind):
        return Choice(False, "the sides differ in kind")
    return Choice(statistics.overlap > 0.8, f"{statistics.overlap:.0%} of the letters are used on both sides")


def shared_by_model(model: ModelPlan) -> Choice | None:
    """Whether one vocabulary serves both sides, where the model leaves no choice."""
    if model.encoder == "none":
        return Choice(True, "a language model has one vocabulary")
    if model.encoder in IMAGE_ENCODERS or model.decoder == "none":
        return Choice(False, "only one side is text")
    if model.pointer:
        return Choice(True, "what is copied is the same on both sides")
    return None


def _size(kinds: set[str], statistics: CorpusStatistics) -> int:
    """Entries that are seen often enough to be learned; a small output layer is also what makes a CPU fast."""
    if kinds <= SPELT:
        return 8000
    size = next((size for characters, size in SIZES if statistics.text < characters), MOST_PIECES)
    return 2 * size if "word" in kinds else size
