"""Pointing: whether attention looks where it speaks. Only scenes know where their objects are.

When the noun of an object is written (the true caption is given), the cell of the highest weight, heads averaged, is a
hit if its centre lies in the object's box.
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


def looks_at_source(model: Model) -> str | None:
    """The tap of the last attention that looks at the memory; None: there is none."""
    taps = [name for name, module in model.named_modules() if isinstance(module, Tap) and name.endswith(".weights")]
    found = [name for name in taps if name.startswith("decoder.") and "self_attention" not in name]
    return found[-1] if found else None


def pointing(
    model: Model, batches: Iterable[Batch], scenes: Sequence[Scene], captions: Sequence[str], codec: TargetCodec
) -> MetricScore | None:
    """Percent of hits over all nouns; None where nothing looks. Rows of the batches count scenes and captions."""
    tap = looks_at_source(model)
    if tap is None:
        return None
    hits: list[bool] = []
    for batch in batches:
        device = device_of(model)
        with evaluating(model), watching(model) as watch:
            model(batch.source.to(device), batch.source_mask.to(device), batch.target_in.to(device))
        weights = watch.tensors()[tap].mean(1)  # (B, T, P)
        for row, looked in zip(batch.rows, weights, strict=True):
            hits += pointed(looked, scenes[row], captions[row], codec)
    return share("pointing", sum(hits), len(hits))


def pointed(looked: Tensor, scene: Scene, caption: str, codec: TargetCodec) -> list[bool]:
    """A hit or a miss for each object; looked (T, P)."""
    offsets = codec.offsets(caption)
    found = []
    for thing, (start, end) in mentions(scene, caption):
        steps = [step for step, (first, last) in enumerate(offsets) if first < end and last > start]
        found.append(on(thing, int(looked[steps].mean(0).argmax()), looked.shape[1]))
    return found


def on(thing: Thing, cell: int, cells: int) -> bool:
    """Whether the centre of this cell lies in the thing's box."""
    side = round(cells**0.5)
    y, x = ((place + 0.5) * SIDE / side for place in divmod(cell, side))
    left, top, right, bottom = thing.box
    return left <= x <= right and top <= y <= bottom
