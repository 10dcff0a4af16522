"""Captioning: a picture to a sentence about it, and where the attention was for each word."""

from __future__ import annotations

from regard.analysis.overlay import Overlay, overlay
from regard.analysis.trace import Trace
from regard.data.corpus import Example
from regard.data.embedded.scene import is_scene, parse
from regard.data.image_codec import read_view
from regard.data.images import Unreadable
from regard.errors import UserError
from regard.evaluation import EvaluationReport, MetricScore, evaluate_captions
from regard.evaluation.pointing import pointing
from regard.pipeline.result import Result
from regard.pipeline.text_model import SourceToText

OVERLAY_SIDE = 320  # pixels of the side of a picture under an overlay


class Captioner(SourceToText):
    """The name of a picture's file, or a scene, to a caption."""

    def report(self, examples: list[Example], results: list[Result], tokenize: str | None) -> EvaluationReport:
        return evaluate_captions(
            [result.text for result in results],
            [example.target for example in examples],
            pointing=self._pointing(examples),
            forced=self.teacher_forced(examples),
            unfinished=sum(not result.finished for result in results),
            tokenize=tokenize,
        )

    def overlay(self, picture: str, trace: Trace, attention: str | None = None) -> Overlay:
        """The picture once for each word of a trace of it, dark where that attention (the last) had little weight."""
        view = read_view(picture, OVERLAY_SIDE)
        assert not isinstance(view, Unreadable), "it was read for the trace"
        names = trace.source_attentions
        chosen = attention or trace.default_attention
        if chosen not in names:
            raise UserError(f"{chosen} does not attend to the picture; these do: {', '.join(names) or 'none'}")
        return overlay(view, [trace.attention(name) for name in names], chosen)

    def _pointing(self, examples: list[Example]) -> MetricScore | None:
        """Only of scenes: their objects have known positions."""
        if not all(is_scene(example.source) for example in examples):
            return None
        batches = self.batches(examples)
        if batches is None:
            return None
        scenes = [parse(example.source) for example in examples]
        captions = [example.target for example in examples]
        with self._silencing():
            return pointing(self.model, batches, scenes, captions, self.target_codec)
