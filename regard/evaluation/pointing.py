"""Pointing game (Zhang et al. 2016): whether attention peaks on the object that a noun names. Only for scenes.

The true caption is forced. When the noun of an object is predicted, the cell of the highest weight, heads averaged, is
a hit if its centre lies in the bounding box of the object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from regard.data.batches import Batch
from regard.data.codecs import TargetCodec
from regard.data.embedded.scene import SIDE, Scene, Thing
from regard.data.embedded.shapes import mentions
from regard.evaluation.metrics import MetricScore, share
from regard.inference.batching import device_of, evaluating
from regard.models.seq2seq import Model
from regard.nn.taps import Tap, watching


def last_cross_attention(model: Model) -> str | None:
    """The tap of the last attention of the decoder to the memory; None: there is none."""
    taps = [name for name, module in model.named_modules() if isinstance(module, Tap) and name.endswith(".weights")]
    cross = [name for name in taps if name.startswith("decoder.") and "self_attention" not in name]
    return cross[-1] if cross else None


def pointing(
    model: Model, batches: Iterable[Batch], scenes: Sequence[Scene], captions: Sequence[str], codec: TargetCodec
) -> MetricScore | None:
    """Percent of hits over all nouns; None without cross-attention. `batch.rows` index scenes and captions."""
    tap = last_cross_attention(model)
    if tap is None:
        return None
    hits: list[bool] = []
    for batch in batches:
        device = device_of(model)
        with evaluating(model), watching(model) as watch:
            model(batch.source.to(device), batch.source_mask.to(device), batch.target_in.to(device))
        weights = watch.tensors()[tap].mean(1)  # (B, T, P)
        for row, attended in zip(batch.rows, weights, strict=True):
            hits += object_hits(attended, scenes[row], captions[row], codec)
    return share("pointing", sum(hits), len(hits))


def object_hits(weights: Tensor, scene: Scene, caption: str, codec: TargetCodec) -> list[bool]:
    """A hit or a miss for each object that the caption mentions; weights (T, P)."""
    offsets = codec.offsets(caption)
    hits = []
    for thing, (start, end) in mentions(scene, caption):
        steps = [step for step, (first, last) in enumerate(offsets) if first < end and last > start]
        hits.append(in_box(thing, int(weights[steps].mean(0).argmax()), weights.shape[1]))
    return hits


def in_box(thing: Thing, cell: int, cells: int) -> bool:
    """Whether the centre of this cell lies in the bounding box of the object."""
    side = round(cells**0.5)
    y, x = ((index + 0.5) * SIDE / side for index in divmod(cell, side))
    left, top, right, bottom = thing.box
    return left <= x <= right and top <= y <= bottom
