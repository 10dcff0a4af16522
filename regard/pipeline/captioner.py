"""Captioning: an image to a sentence about it, and the attention to the image for each word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regard.analysis.overlay import Overlay, data_uri, overlay
from regard.analysis.trace import Trace
from regard.analysis.view import ImageRecord, TraceRecord
from regard.data.corpus import Example
from regard.data.embedded.scene import is_scene, parse
from regard.data.image_codec import read_view
from regard.data.images import Unreadable
from regard.errors import UserError
from regard.evaluation import CaptionReport, MetricScore, evaluate_captions
from regard.evaluation.pointing import pointing
from regard.pipeline.result import Result
from regard.pipeline.text_model import SourceToText

OVERLAY_SIDE = 320  # pixels of the side of an image under an overlay


class Captioner(SourceToText):
    """The name of an image file, or a scene, to a caption."""

    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> CaptionReport:
        return evaluate_captions(
            [result.text for result in results],
            [example.target for example in examples],
            pointing=self._pointing(examples),
            forced=self.teacher_forced(examples),
            unfinished=sum(not result.finished for result in results),
            tokenize=tokenize,
        )

    def overlay(self, image: str, trace: Trace, attention: str | None = None) -> Overlay:
        """The image once for each word of its trace, dark where the attention (the last) has little weight."""
        names = trace.source_attentions
        chosen = attention or trace.default_attention
        if chosen not in names:
            raise UserError(f"{chosen} does not attend to the image; these do: {', '.join(names) or 'none'}")
        record = self.record(image, trace, chosen)
        return overlay(_pixels(image), [trace.attention(name) for name in names], chosen, record)

    def record(self, text: str, seen: Trace, first: str | None = None) -> TraceRecord:
        side = round(len(seen.source_tokens) ** 0.5)
        image = ImageRecord(data_uri(_pixels(text)), side, self.changes.hide)
        record = super().record(text, seen, first)
        return replace(record, image=image, title=record.text)

    def _pointing(self, examples: list[Example]) -> MetricScore | None:
        """Only of scenes: their objects have known positions."""
        if not all(is_scene(example.source) for example in examples):
            return None
        batches = self.batches(examples)
        if batches is None:
            return None
        scenes = [parse(example.source) for example in examples]
        captions = [example.target for example in examples]
        with self._changing():
            return pointing(self.run.model, batches, scenes, captions, self.target_codec)


def _pixels(image: str) -> np.ndarray:
    view = read_view(image, OVERLAY_SIDE)
    assert not isinstance(view, Unreadable), "it was read for the trace"
    return view
