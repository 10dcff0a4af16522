"""Linear probes: what one linear layer can predict from a hidden state.

The baselines of a probe's accuracy: the most frequent class; the same model with random weights; and a control task,
where each word has a random label (Hewitt & Liang 2019): selectivity is accuracy minus that of the control task. For
positions the mean distance from the true one is reported, too (Haviv 2022).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.analysis.maps import is_mark, word_groups
from regard.analysis.trace import Trace
from regard.data.tagged import Tagged
from regard.errors import UserError

DECAY = 1e-3
STATES = ".states"


@dataclass(frozen=True)
class LabelledStates:
    """One layer's states of many sentences, with the label that is predicted from each."""

    states: Tensor  # (n, D)
    labels: Tensor  # (n,)
    control: Tensor  # (n,) random, equal for equal tokens
    held_out: Tensor  # (n,) True: of a sentence that the probe is not trained on


@dataclass(frozen=True)
class ProbeRow:
    """One layer, in percent; `distance` only where labels are positions."""

    layer: str
    accuracy: float
    majority: float
    control: float
    random_weights: float
    distance: float | None
    random_distance: float | None

    @property
    def selectivity(self) -> float:
        return self.accuracy - self.control


@dataclass(frozen=True)
class ProbeReport:
    target: str
    classes: int
    tokens: int
    rows: tuple[ProbeRow, ...]

    def as_dict(self) -> dict[str, Any]:
        rows = [{**asdict(row), "selectivity": row.selectivity} for row in self.rows]
        return {**asdict(self), "rows": rows}


def probe_positions(trained: Sequence[Trace], untrained: Sequence[Trace], seed: int = 1) -> ProbeReport:
    """The position of a state in the sentence. The traces are of the same sentences by both models."""
    rows, tokens, classes = [], 0, 0
    for layer in state_layers(trained[0]):
        known, random_weights = (_positions(traces, layer, seed) for traces in (trained, untrained))
        rows.append(_probe(layer, known, random_weights, distances=True))
        tokens, classes = max(tokens, len(known.labels)), max(classes, int(known.labels.max()) + 1)
    return ProbeReport("position", classes, tokens, tuple(rows))


def probe_tags(
    trained: Sequence[Trace], untrained: Sequence[Trace], tagged: Sequence[Tagged], seed: int = 1
) -> ProbeReport:
    """The tag of a source word, predicted from the state of its last token; layers of the encoder only."""
    names = sorted({tag for sentence in tagged for tag in sentence.tags})
    layers = [layer for layer in state_layers(trained[0]) if layer.startswith("encoder")]
    if not layers:
        raise UserError("this model has no encoder whose states could carry tags of source words")
    rows, tokens = [], 0
    for layer in layers:
        known, random_weights = (_tags(traces, tagged, layer, names, seed) for traces in (trained, untrained))
        rows.append(_probe(layer, known, random_weights, distances=False))
        tokens = len(known.labels)
    return ProbeReport("tag", len(names), tokens, tuple(rows))


def state_layers(trace: Trace) -> list[str]:
    """The layers whose states a trace holds."""
    return [name.removesuffix(STATES) for name in trace.tensors if name.endswith(STATES)]


def render(report: ProbeReport) -> str:
    """The report as a table."""
    lines = [
        f"{report.target}: {report.classes} classes, {report.tokens:,} states, a fifth of the sentences held out",
        "",
        f"{'layer':<24} {'probe':>7} {'majority':>9} {'control':>8} {'selectivity':>12} {'random weights':>15}"
        + (f" {'off by':>8} {'random off by':>14}" if report.target == "position" else ""),
    ]
    for row in report.rows:
        numbers = f"{row.accuracy:7.1f} {row.majority:9.1f} {row.control:8.1f} {row.selectivity:12.1f}"
        line = f"{row.layer:<24} {numbers} {row.random_weights:15.1f}"
        off = f" {row.distance:8.2f} {row.random_distance:14.2f}" if row.distance is not None else ""
        lines.append(line + off)
    return "\n".join(lines)


def fit(states: Tensor, labels: Tensor, classes: int) -> Tensor:
    """A linear classifier by L-BFGS on the mean cross-entropy with weight decay: (n, D), (n,) → (D + 1, C)."""
    weights = torch.zeros(states.shape[1] + 1, classes, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")
    inputs = _with_one(states)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(inputs @ weights, labels) + DECAY * weights.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)  # pyrefly: ignore
    return weights.detach()


def _probe(layer: str, known: LabelledStates, random_weights: LabelledStates, distances: bool) -> ProbeRow:
    predicted, truth = _predict(known, known.labels)
    guessed, _ = _predict(random_weights, random_weights.labels)
    controlled, control = _predict(known, known.control)
    majority = Counter(known.labels[~known.held_out].tolist()).most_common(1)[0][0]
    return ProbeRow(
        layer=layer,
        accuracy=_percent(predicted == truth),
        majority=_percent(truth == majority),
        control=_percent(controlled == control),
        random_weights=_percent(guessed == truth),
        distance=float((predicted - truth).abs().float().mean()) if distances else None,
        random_distance=float((guessed - truth).abs().float().mean()) if distances else None,
    )


def _predict(data: LabelledStates, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Labels of the held-out states: those that a probe trained on the others predicts, and the true ones."""
    train, test = ~data.held_out, data.held_out
    mean, spread = data.states[train].mean(0), data.states[train].std(0).clamp_min(1e-6)
    states = (data.states - mean) / spread
    weights = fit(states[train], labels[train], int(labels.max()) + 1)
    return (_with_one(states[test]) @ weights).argmax(-1), labels[test]


def _positions(traces: Sequence[Trace], layer: str, seed: int) -> LabelledStates:
    states, labels, tokens, held_out = [], [], [], []
    for number, trace in enumerate(traces):
        rows = trace.tensors[layer + STATES][0]
        names = trace.source_tokens if layer.startswith("encoder") else trace.input_tokens
        names = names[-rows.shape[0] :]
        states.append(rows[-len(names) :])
        labels += range(len(names))
        tokens += names
        held_out += [number % 5 == 4] * len(names)
    control = _random_labels(tokens, labels, seed)
    return LabelledStates(torch.cat(states), torch.tensor(labels), torch.tensor(control), torch.tensor(held_out))


def _tags(traces: Sequence[Trace], tagged: Sequence[Tagged], layer: str, names: list[str], seed: int) -> LabelledStates:
    states, labels, words, held_out = [], [], [], []
    for number, (trace, sentence) in enumerate(zip(traces, tagged, strict=True)):
        groups = [group for group in word_groups(trace.source_tokens) if not is_mark(trace.source_tokens[group[-1]])]
        assert len(groups) == len(sentence.words), "words without white space inside are as many as the model sees"
        states.append(trace.tensors[layer + STATES][0][[group[-1] for group in groups]])
        labels += [names.index(tag) for tag in sentence.tags]
        words += sentence.words
        held_out += [number % 5 == 4] * len(groups)
    control = _random_labels(words, labels, seed)
    return LabelledStates(torch.cat(states), torch.tensor(labels), torch.tensor(control), torch.tensor(held_out))


def _random_labels(tokens: list[str], labels: list[int], seed: int) -> list[int]:
    """A label for each token type, drawn from the distribution of the true labels."""
    generator = random.Random(seed)
    chosen = {token: generator.choice(labels) for token in sorted(set(tokens))}
    return [chosen[token] for token in tokens]


def _with_one(states: Tensor) -> Tensor:
    return F.pad(states, (0, 1), value=1.0)


def _percent(right: Tensor) -> float:
    return 100 * float(right.float().mean())
