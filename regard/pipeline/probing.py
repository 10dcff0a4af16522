"""Analyses of a trained run over many sentences: probes, heads silenced in turn, roles of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from regard.analysis.head_ablation import HeadAblationReport, ablate_heads
from regard.analysis.probes import ProbeReport, probe_positions, probe_tags
from regard.analysis.roles import RolesReport, measure_roles, token_truth
from regard.data.corpus import Example
from regard.data.embedded.stories import Span
from regard.data.embedded.truth import Truth, truths
from regard.data.tagged import Tagged, read_tagged
from regard.errors import UserError
from regard.inference import ProgressCallback
from regard.pipeline.interface import Pipeline

FEWEST = 10  # sentences that a probe is trained and tested on


@dataclass(frozen=True)
class ProbeData:
    """The sentences of a probe; `tagged` where it predicts tags, else it predicts positions."""

    examples: list[Example]
    tagged: list[Tagged] | None = None


def probe_data(
    pipeline: Pipeline, tags: str | Path | None = None, column: str = "upos", sentences: int = 300
) -> ProbeData:
    """Development examples of the run, or the sentences of a file of tags with the greedy outputs for them."""
    if tags is None:
        examples = pipeline.run.examples("dev")[:sentences]
        if len(examples) < FEWEST:
            raise UserError(
                f"{pipeline.run.path} holds {len(examples)} development examples; a probe needs {FEWEST} at least"
            )
        return ProbeData(examples)
    tagged = read_tagged(tags, column)[:sentences]
    texts = [sentence.text for sentence in tagged]
    results = pipeline.translate_all(texts, pipeline.search_with(beams=1, n_best=1))
    return ProbeData([Example(text, result.text) for text, result in zip(texts, results, strict=True)], tagged)


def probe(pipeline: Pipeline, data: ProbeData, seed: int = 1, progress: ProgressCallback | None = None) -> ProbeReport:
    """How well a linear layer predicts positions or tags from the states of each layer.

    `seed`: of the random weights and the control task. `progress` counts each example twice.
    """
    trained = pipeline.trace_all(data.examples, progress)
    untrained = pipeline.untrained(seed).trace_all(data.examples, progress)
    if data.tagged is None:
        return probe_positions(trained, untrained, seed)
    return probe_tags(trained, untrained, data.tagged, seed)


def head_ablation(
    pipeline: Pipeline, examples: Sequence[Example], progress: ProgressCallback | None = None
) -> HeadAblationReport:
    """What the model loses when each attention and each head is silenced in turn."""
    batches = pipeline.batches(examples)
    if batches is None:
        raise UserError("an example is longer than the positions of the model; take fewer sentences (--sentences)")
    return ablate_heads(pipeline.run.model, batches, progress)


def syntactic_heads(pipeline: Pipeline, path: str | Path, sentences: int = 300) -> dict[Example, Truth]:
    """The sentences of a CoNLL-U file, the outputs for them, and on which word each word depends."""
    parsed = read_tagged(path, "head")[:sentences]
    results = pipeline.translate_all([sentence.text for sentence in parsed], pipeline.search_with(beams=1, n_best=1))
    known = {}
    for sentence, result in zip(parsed, results, strict=True):
        if not all(tag.isdecimal() and int(tag) <= len(sentence.words) for tag in sentence.tags):
            raise UserError(f"{path}: {sentence.text!r} has no heads; give CoNLL-U with its column HEAD")
        ends = list(accumulate(len(word) + 1 for word in sentence.words))
        spans = [Span(end - 1 - len(word), end - 1) for end, word in zip(ends, sentence.words, strict=True)]
        pairs = [(span, int(tag)) for span, tag in zip(spans, sentence.tags, strict=True)]
        heads = tuple((span, spans[head - 1]) for span, head in pairs if head)  # 0 is the root
        known[Example(sentence.text, result.text)] = Truth(heads=heads)
    return known


def head_roles(
    pipeline: Pipeline,
    examples: Sequence[Example],
    progress: ProgressCallback | None = None,
    known: Mapping[Example, Truth] | None = None,
) -> RolesReport:
    """What each head attends to: the previous token, the next, the same word … `known`: more of the examples, in place
    of what their corpus knows."""
    source_codec, target_codec = pipeline.run.source_codec, pipeline.run.target_codec
    if source_codec.kind == "images":
        raise UserError(
            "roles are of words in a text, and the sources of this run are images; `regard evaluate` measures pointing"
        )
    truth = truths(pipeline.run.plan.data) if known is None else known
    token_truths = [
        token_truth(
            truth.get(example, Truth()), source_codec.offsets(example.source), target_codec.offsets(example.target)
        )
        for example in examples
    ]
    return measure_roles(pipeline.trace_all(examples, progress), token_truths)
