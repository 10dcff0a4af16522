"""A model that says what is in a picture."""

from __future__ import annotations

from regard.config import SearchConfig
from regard.data.batches import encode_pairs, make_batch, plan
from regard.data.corpus import Example
from regard.data.embedded.scene import is_scene, parse
from regard.evaluation import Report, Score, evaluate_captions
from regard.evaluation.pointing import pointing
from regard.pipeline.contract import Progress
from regard.pipeline.writers import SourceWriter


class Captioner(SourceWriter):
    """The name of a picture's file, or a scene, to a caption."""

    def evaluate(self, examples: list[Example], search: SearchConfig, progress: Progress | None = None) -> Report:
        pictures = [example.source for example in examples]
        results = self.translate_all(pictures, search.model_copy(update={"n_best": 1}), progress)
        return evaluate_captions(
            [result.text for result in results],
            [example.target for example in examples],
            pointing=self._pointing(examples),
            forced=self.forced(examples),
            unfinished=sum(not result.finished for result in results),
        )

    def _pointing(self, examples: list[Example]) -> Score | None:
        """Only of scenes: there the place of each object is known."""
        if not all(is_scene(example.source) for example in examples):
            return None
        pairs, _ = encode_pairs(examples, self.source_tokenizer, self.target_tokenizer)
        batches = (make_batch(pairs, rows) for rows in plan(pairs, self.search.batch_tokens, seed=0, epoch=0))
        scenes = [parse(example.source) for example in examples]
        captions = [example.target for example in examples]
        return pointing(self.model, batches, scenes, captions, self.target_tokenizer)
