"""A beam search that can be followed: every hypothesis that was ever kept, step by step, as a tree."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from regard.config import SearchSettings
from regard.data.tokenizer import BOS, EOS
from regard.inference.batching import Source, device_of, evaluating, generation_limit, pad_sources
from regard.inference.beam import beam_steps
from regard.inference.hypothesis import Hypothesis
from regard.inference.incremental.model import IncrementalModel, stepwise
from regard.models.seq2seq import Model


@dataclass(frozen=True)
class Node:
    """A hypothesis after some step: its tokens so far, and what became of it."""

    tokens: tuple[int, ...]  # with EOS where it ended
    log_prob: float
    score: float | None  # of one that ended: log_prob / length^alpha

    @property
    def parent(self) -> tuple[int, ...]:
        return self.tokens[:-1]


@dataclass(frozen=True)
class BeamTree:
    """steps[t]: the hypotheses of t+1 tokens that were kept or ended, most probable first."""

    steps: tuple[tuple[Node, ...], ...]
    best: tuple[int, ...]  # the tokens of the winner

    def lineage(self) -> set[tuple[int, ...]]:
        """The nodes on the way to the winner."""
        return {self.best[:length] for length in range(1, len(self.best) + 1)}


def beam_tree(model: Model | IncrementalModel, source: Source, config: SearchSettings) -> BeamTree:
    """Search for one source (ids without EOS, or an image), and all that was kept on the way."""
    finished: list[list[Hypothesis]] = [[]]
    layers: list[list[Node]] = []
    with evaluating(model):
        steps = stepwise(model)
        ids, mask = pad_sources([source], device_of(model))
        first = torch.tensor([[BOS]], device=ids.device)
        limits = torch.tensor([generation_limit(model, source, 1, config)], device=ids.device)
        for beams in beam_steps(steps, steps.encode(ids, mask), first, limits, config, finished):
            live = zip(beams.tokens[0].tolist(), beams.total[0].tolist(), strict=True)
            layers.append([Node(tuple(tokens), total, None) for tokens, total in live if total > -torch.inf])
    for hypothesis in finished[0]:
        if hypothesis.finished:
            node = Node((*hypothesis.tokens, EOS), hypothesis.log_prob, hypothesis.score)
            layers[len(hypothesis.tokens)].append(node)
    winner = max(finished[0], key=lambda hypothesis: (hypothesis.finished, hypothesis.score))
    best = (*winner.tokens, EOS) if winner.finished else winner.tokens
    return BeamTree(tuple(tuple(sorted(layer, key=lambda node: -node.log_prob)) for layer in layers), best)
