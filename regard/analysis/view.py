"""What a viewer shows, as plain records: `as_dict` is the JSON that the components in `plotting/viewer/` draw.

They are the same in `regard look --out x.html`, in notebooks and in the answers of a server. Tokens are as the model
reads them, with their spaces; `<s>` and `</s>` stand where they are inputs or outputs. Numbers are rounded to 4 digits.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regard.plotting import save_page
from regard.plotting.viewer import in_frame, viewer_page

TokenSide = Literal["source", "input", "output", "both"]
"""Whose tokens a row or column is: both = the source's, then the decoder's inputs, of a decoder-only model."""


def plain(value: Any) -> Any:
    """Records as dictionaries and tuples as lists, for JSON; lists of numbers are kept as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


@dataclass(frozen=True)
class AlternativeToken:
    """A token that could stand at a position, and how probable the model finds it there."""

    id: int
    token: str
    log_prob: float  # nats


@dataclass(frozen=True)
class Prediction:
    """One position of the output, given those before it: the token that stands there, and the most probable ones."""

    id: int
    log_prob: float  # nats
    entropy: float  # of the distribution over all tokens, in nats
    alternatives: tuple[AlternativeToken, ...]  # most probable first; the token itself is among them where it is one


@dataclass(frozen=True)
class MapRecord:
    """One map: weights[h][t][s] is how much query t of head h attends to key s."""

    name: str  # `decoder.layers.0.cross_attention`, `decoder.rollout` …
    kind: Literal["attention", "rollout", "field"]  # field: 1 within the receptive field of a convolution, else 0
    row_side: TokenSide
    column_side: TokenSide
    rows: tuple[str, ...]  # tokens
    columns: tuple[str, ...]
    weights: list[list[list[float]]]


@dataclass(frozen=True)
class SourceWord:
    """A word of the source: its tokens by their index in `source_tokens`; none where it is hidden. Of the text that a
    language model continues, in `output_tokens`."""

    text: str
    tokens: tuple[int, ...]
    hidden: bool = False


@dataclass(frozen=True)
class ImageRecord:
    """An image, whose cells in reading order are the columns of the maps to the source."""

    uri: str  # data:
    side: int  # cells of a side
    hidden: tuple[int, ...] = ()  # cells that were covered


@dataclass(frozen=True)
class ChangeRecord:
    """What was changed in the model and in the source, as `Pipeline.changed` takes it."""

    silence: tuple[str, ...] = ()
    uniform: tuple[str, ...] = ()
    hide: tuple[int, ...] = ()


@dataclass(frozen=True)
class OutputRecord:
    """One of the n best outputs."""

    text: str
    score: float
    log_prob: float
    finished: bool


@dataclass(frozen=True)
class TraceRecord:
    """A source, an output, and all that the model attended to between them; one teacher-forced pass.

    Where `regard.load(run).view(text)` made it, `model`, `task`, `source` and `changes` are known, else empty.
    """

    title: str
    source_tokens: tuple[str, ...]
    source_words: tuple[SourceWord, ...]  # of an image: none
    input_tokens: tuple[str, ...]  # of the decoder
    output_tokens: tuple[str, ...]
    maps: tuple[MapRecord, ...]
    first: str | None  # the map to show first; None: the model attends to nothing
    given: int = 0  # output tokens that were given: the text that a language model continues
    predictions: tuple[Prediction, ...] = ()  # one for each output token, or none where only maps are known
    text: str = ""  # the output
    source: str = ""
    model: str = ""
    task: str = ""
    finished: bool = True
    score: float | None = None  # of a search
    outputs: tuple[OutputRecord, ...] = ()  # the n best of the search, this one first, where they were asked for
    image: ImageRecord | None = None
    changes: ChangeRecord = ChangeRecord()
    kind: Literal["trace"] = "trace"

    def as_dict(self) -> dict[str, Any]:
        return plain(self)

    def save(self, path: str | Path) -> Path:
        """One .html file that shows it and works offline."""
        return save_page(path, viewer_page(self.title, self.as_dict()))

    def _repr_html_(self) -> str:
        return in_frame(viewer_page(self.title, self.as_dict()))


@dataclass(frozen=True)
class NodeRecord:
    """A hypothesis after some step: its last token, and the row of its parent in the step before (0 for the root)."""

    token: str
    id: int
    parent: int
    text: str  # all so far
    log_prob: float  # of all so far
    score: float | None  # of one that ended: log_prob / length^alpha
    state: Literal["best", "kept", "pruned"]  # on the way to the winner; some end was reached from it; none was


@dataclass(frozen=True)
class TreeRecord:
    """A beam search: the hypotheses of each step that were kept or ended, most probable first."""

    title: str
    root: str  # the start of the sentence
    steps: tuple[tuple[NodeRecord, ...], ...]
    text: str  # of the winner
    source: str = ""
    model: str = ""
    kind: Literal["tree"] = "tree"

    def as_dict(self) -> dict[str, Any]:
        return plain(self)

    def save(self, path: str | Path) -> Path:
        """One .html file in which the arrow keys step through it."""
        return save_page(path, viewer_page(self.title, self.as_dict()))

    def _repr_html_(self) -> str:
        return in_frame(viewer_page(self.title, self.as_dict()))


def rounded(weights: np.ndarray) -> list[list[list[float]]]:
    """(H, T, S) to four digits; of a long text these are millions."""
    return np.round(weights.astype(np.float64), 4).tolist()
