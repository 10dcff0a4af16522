"""Teacher forcing: in training all targets are known, so no position need wait for the one before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.apps.lessons.complexity import cpu_seconds, exponent, graph_depth
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, bound, margin, mean_range
from regard.config import plan_model, settle
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.nn.taps import watching
from regard.plotting import COLOURS, Axis, Line, Panel, Points, picture

LETTERS, DEPTH = 50, 2
TRANSFORMER, LSTM, RNN = "Transformer", "LSTM", "RNN"
PRESETS = {
    TRANSFORMER: {"preset": "transformer-language"},
    LSTM: {"preset": "rnn-language", "cell": "lstm"},
    RNN: {"preset": "rnn-language"},
}
LAYERS = {TRANSFORMER: "decoder.layers.0"}
CELL = f"decoder.stack.layers.{DEPTH - 1}.state_proj"  # a tap shows the states of the top layer, step by step


@dataclass(frozen=True)
class Way:
    """A model and how it is trained: `forced` on the true tokens, or fed its own outputs."""

    model: str
    forced: bool

    @property
    def name(self) -> str:
        return self.model if self.forced else f"{self.model}, token by token"


WAYS = (Way(TRANSFORMER, True), Way(LSTM, True), Way(RNN, True), Way(TRANSFORMER, False), Way(LSTM, False))


def language_model(name: str, width: int, seed: int) -> Model:
    tree = {"model": {**PRESETS[name], "width": width, "depth": DEPTH, "heads": 4, "dropout": 0.0}}
    return build_model(plan_model(settle(tree).model), LETTERS, LETTERS, True, seed)


def all_at_once(model: Model, target: Tensor) -> Tensor:
    """Logits (B, T, V) of what follows each of the true tokens: one pass."""
    memory = model.encode(*_nothing(target))
    return model.step(target, memory, model.start(memory))[0]


def token_by_token(model: Model, target: Tensor, true: bool = False) -> Tensor:
    """The same by T passes, each fed the most probable token of the one before, or the true one."""
    memory = model.encode(*_nothing(target))
    state, token, logits = model.start(memory), target[:, :1], []
    for place in range(target.shape[1]):
        one, state = model.step(target[:, place : place + 1] if true else token, memory, state)
        token = one.argmax(-1)
        logits.append(one)
    return torch.cat(logits, dim=1)


def _nothing(target: Tensor) -> tuple[Tensor, Tensor]:
    """A source of one token: a language model has nothing to read before it writes."""
    first = torch.zeros_like(target[:, :1])
    return first, torch.ones_like(first, dtype=torch.bool)


def calls_in_series(way: Way, model: Model, target: Tensor) -> int:
    """How often the first layer is called for one pass over the target, one call after the other."""
    calls: list[None] = []
    memory = model.encode(*_nothing(target))
    handle = model.get_submodule(LAYERS.get(way.model, CELL)).register_forward_hook(lambda *_: calls.append(None))
    state = model.start(memory)
    with watching(model, record=False):  # in the open: otherwise a recurrence is one node of the graph
        for tokens in (target,) if way.forced else target.split(1, dim=1):
            _, state = model.step(tokens, memory, state)
    handle.remove()
    return len(calls)


def chain(model: Model, target: Tensor) -> int:
    """Operations in series with teacher forcing, in the open."""
    with watching(model, record=False):
        return graph_depth(lambda: all_at_once(model, target))


def training_step(way: Way, model: Model, target: Tensor) -> Callable[[], object]:
    """Forward, loss, backward."""

    def step() -> None:
        logits = (all_at_once if way.forced else token_by_token)(model, target)
        model.zero_grad()
        F.cross_entropy(logits[:, :-1].flatten(0, 1), target[:, 1:].flatten()).backward()

    return step


def run(budget: Budget) -> Finding:
    tokens = budget.pick(tiny=64, quick=2048, full=4096)
    lengths = budget.pick(tiny=(4, 8, 16), quick=(8, 16, 32, 64, 128, 256), full=(8, 16, 32, 64, 128, 256, 512))
    width = budget.pick(tiny=16, quick=64, full=128)
    longest, rounds = lengths[-1], budget.pick(tiny=1, quick=3, full=5)
    draw = torch.Generator().manual_seed(1)
    targets = {n: torch.randint(4, LETTERS, (tokens // n, n), generator=draw) for n in lengths}
    models = {(name, seed): language_model(name, width, seed) for name in PRESETS for seed in budget.seeds}
    times: dict[str, list[Points]] = {way.name: [] for way in WAYS}
    for seed in budget.seeds:
        work = {(way, n): training_step(way, models[way.model, seed], targets[n]) for n in lengths for way in WAYS}
        taken = cpu_seconds(work, rounds, f"teacher-forcing, seed {seed}", budget.pool.progress)
        for way in WAYS:
            times[way.name].append([(n, 1000 * taken[way, n]) for n in lengths])
    calls = {way.name: calls_in_series(way, models[way.model, budget.seeds[0]], targets[longest][:1]) for way in WAYS}
    chains: dict[str, Points] = {  # of what is forced: where a token is chosen, the graph is cut
        name: [(n, float(chain(models[name, budget.seeds[0]], targets[n][:1]))) for n in lengths] for name in PRESETS
    }
    rows = tuple(
        (
            way.name,
            *(mean_range([curve[place][1] for curve in times[way.name]], 0) for place in (0, -1)),
            f"{calls[way.name]:,}",
            f"{chains[way.model][-1][1]:,.0f}" if way.forced else "",
        )
        for way in WAYS
    )
    titles = ("training", f"ms at {lengths[0]}", f"ms at {longest}", "calls of a layer", "chain of operations")
    apart = max(_difference(model, targets[longest][:2]) for model in models.values())
    return Finding(
        experiment=f"Untrained language models of {DEPTH} layers, width {width}, take training steps (forward, loss, "
        f"backward) on {tokens:,} random tokens in rows of {lengths[0]} to {longest}: the longer, the fewer. Teacher "
        "forcing gives them the true tokens; token by token they are fed their own. Processor time of one thread, "
        f"medians of interleaved rounds. In series at length {longest}: how often a layer is called for one row, and "
        "with teacher forcing the longest chain of operations in the graph.",
        tables=(Table(titles, rows),),
        figures=(picture("", _panels(tokens, times, chains)),),
        verdicts=(
            bound(
                "the Transformer's chain is as long at every length: exponent", abs(exponent(chains[TRANSFORMER])), 0.01
            ),
            *(
                bound(
                    f"the {name}'s grows with the length: exponent off 1 by", abs(exponent(chains[name][-3:]) - 1), 0.1
                )
                for name in (LSTM, RNN)
            ),
            *_time_verdicts(times, longest),
            bound("all at once or one by one, the true tokens give the same logits, to", apart, 1e-4),
        ),
        numbers={"milliseconds": times, "in series": chains, "calls": calls, "difference": apart},
    )


def _time_verdicts(times: dict[str, list[Points]], longest: int) -> Iterator[Verdict]:
    """Ratios of times, seed by seed."""

    def slower(name: str) -> list[float]:
        return [curve[-1][1] / curve[0][1] for curve in times[name]]

    def gained(name: str) -> list[float]:
        alone = times[f"{name}, token by token"]
        return [one[-1][1] / forced[-1][1] for one, forced in zip(alone, times[name], strict=True)]

    yield margin(
        "the same number of tokens in longer rows slows the LSTM down more than the Transformer",
        [theirs / ours for theirs, ours in zip(slower(LSTM), slower(TRANSFORMER), strict=True)],
        "times",
        more_than=2,
    )
    yield margin(
        f"at length {longest} teacher forcing makes the Transformer's step faster",
        gained(TRANSFORMER),
        "times",
        more_than=3,
    )
    yield margin(
        "and it gains more by it than the LSTM",
        [ours / theirs for ours, theirs in zip(gained(TRANSFORMER), gained(LSTM), strict=True)],
        "times",
        more_than=2,
    )


@torch.inference_mode()
def _difference(model: Model, target: Tensor) -> float:
    return (all_at_once(model, target) - token_by_token(model, target, true=True)).abs().max().item()


def _panels(tokens: int, times: dict[str, list[Points]], chains: dict[str, Points]) -> list[Panel]:
    names = [(way.name, COLOURS[place], not way.forced) for place, way in enumerate(WAYS)]
    timed = [Line(name, curve, colour, dashed=dash) for name, colour, dash in names for curve in times[name]]
    chained = [Line(name, chains[name], colour) for name, colour, _ in names if name in chains]
    axes = {"x": Axis("length of a row", log=True), "y": Axis(log=True)}
    title = f"milliseconds for a training step on {tokens:,} tokens, a line a seed"
    return [Panel(title, timed, **axes), Panel("operations in series, with teacher forcing", chained, **axes)]


LESSON = Lesson(
    name="teacher-forcing",
    claim="With teacher forcing a Transformer trains on all positions at once; a recurrent network cannot.",
    after="Vaswani et al. 2017, sections 1 and 3.2.3; Williams & Zipser 1989",
    run=run,
)
