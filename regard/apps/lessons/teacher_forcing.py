"""Teacher forcing: in training all targets are known, so no position has to wait for the one before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.apps.lessons.complexity import cpu_seconds, exponent, graph_depth
from regard.apps.lessons.lesson import Budget, Finding, Lesson, Table, Verdict, bound, margin, mean_range
from regard.config import plan_model, settle
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.nn.taps import watching
from regard.plotting import COLOURS, Axis, Line, Panel, Points, line_chart

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
class Mode:
    """A model and how it is trained: `forced` on the true tokens, or fed its own outputs."""

    model: str
    forced: bool

    @property
    def name(self) -> str:
        return self.model if self.forced else f"{self.model}, token by token"


MODES = (
    Mode(TRANSFORMER, True),
    Mode(LSTM, True),
    Mode(RNN, True),
    Mode(TRANSFORMER, False),
    Mode(LSTM, False),
)


def language_model(name: str, width: int, seed: int) -> Model:
    tree = {"model": {**PRESETS[name], "width": width, "depth": DEPTH, "heads": 4, "dropout": 0.0}}
    return fuse(build_model(plan_model(settle(tree).model), LETTERS, LETTERS, True, seed))


def all_at_once(model: Model, target: Tensor) -> Tensor:
    """Logits (B, T, V) after each of the true tokens, in one forward pass."""
    memory = model.encode(*_nothing(target))
    return model.step(target, memory, model.start(memory))[0]


def token_by_token(model: Model, target: Tensor, true: bool = False) -> Tensor:
    """The same in T steps, each given the most probable token of the step before, or the true one."""
    memory = model.encode(*_nothing(target))
    state, token, logits = model.start(memory), target[:, :1], []
    for index in range(target.shape[1]):
        step_logits, state = model.step(target[:, index : index + 1] if true else token, memory, state)
        token = step_logits.argmax(-1)
        logits.append(step_logits)
    return torch.cat(logits, dim=1)


def _nothing(target: Tensor) -> tuple[Tensor, Tensor]:
    """A source of one token: a language model has no source to encode."""
    first = torch.zeros_like(target[:, :1])
    return first, torch.ones_like(first, dtype=torch.bool)


def calls_in_series(mode: Mode, model: Model, target: Tensor) -> int:
    """How often one layer is called in sequence for one target."""
    calls: list[None] = []
    memory = model.encode(*_nothing(target))
    handle = model.get_submodule(LAYERS.get(mode.model, CELL)).register_forward_hook(lambda *_: calls.append(None))
    state = model.start(memory)
    with watching(model, record=False):  # without kernels: with them a recurrence is one node of the graph
        for tokens in (target,) if mode.forced else target.split(1, dim=1):
            _, state = model.step(tokens, memory, state)
    handle.remove()
    return len(calls)


def chain(model: Model, target: Tensor) -> int:
    """Operations in sequence with teacher forcing, without kernels."""
    with watching(model, record=False):
        return graph_depth(lambda: all_at_once(model, target))


def training_step(mode: Mode, model: Model, target: Tensor) -> Callable[[], object]:
    """Forward, loss, backward."""

    def step() -> None:
        logits = (all_at_once if mode.forced else token_by_token)(model, target)
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
    times: dict[str, list[Points]] = {mode.name: [] for mode in MODES}
    for seed in budget.seeds:
        work = {(mode, n): training_step(mode, models[mode.model, seed], targets[n]) for n in lengths for mode in MODES}
        seconds = cpu_seconds(work, rounds, f"teacher-forcing, seed {seed}", budget.pool.progress)
        for mode in MODES:
            times[mode.name].append([(n, 1000 * seconds[mode, n]) for n in lengths])
    calls = {
        mode.name: calls_in_series(mode, models[mode.model, budget.seeds[0]], targets[longest][:1]) for mode in MODES
    }
    chains: dict[str, Points] = {  # with teacher forcing only: choosing a token cuts the graph
        name: [(n, float(chain(models[name, budget.seeds[0]], targets[n][:1]))) for n in lengths] for name in PRESETS
    }
    rows = tuple(
        (
            mode.name,
            *(mean_range([curve[index][1] for curve in times[mode.name]], 0) for index in (0, -1)),
            f"{calls[mode.name]:,}",
            f"{chains[mode.model][-1][1]:,.0f}" if mode.forced else "",
        )
        for mode in MODES
    )
    titles = ("training", f"ms at {lengths[0]}", f"ms at {longest}", "calls of a layer", "chain of operations")
    apart = max(_difference(model, targets[longest][:2]) for model in models.values())
    return Finding(
        experiment=f"Untrained language models of {DEPTH} layers, width {width}, take training steps (forward, loss, "
        f"backward) on {tokens:,} random tokens in rows of {lengths[0]} to {longest}: the longer, the fewer. Teacher "
        "forcing gives them the true tokens; token by token they are given their own. Processor time of one thread, "
        f"medians of interleaved rounds. At length {longest}: how often a layer is called in sequence for one row, and "
        "with teacher forcing the longest chain of operations in the graph.",
        tables=(Table(titles, rows),),
        figures=(line_chart("", _panels(tokens, times, chains)),),
        verdicts=(
            bound(
                "the Transformer's chain is equally long at every length: exponent",
                abs(exponent(chains[TRANSFORMER])),
                0.01,
            ),
            *(
                bound(
                    f"the {name}'s grows with the length: exponent off 1 by", abs(exponent(chains[name][-3:]) - 1), 0.1
                )
                for name in (LSTM, RNN)
            ),
            *_time_verdicts(times, longest),
            bound("the true tokens give the same logits all at once and one by one, to within", apart, 1e-4),
        ),
        numbers={"milliseconds": times, "in sequence": chains, "calls": calls, "difference": apart},
    )


def _time_verdicts(times: dict[str, list[Points]], longest: int) -> Iterator[Verdict]:
    """Ratios of times, seed by seed."""

    def slower(name: str) -> list[float]:
        return [curve[-1][1] / curve[0][1] for curve in times[name]]

    def gained(name: str) -> list[float]:
        alone = times[f"{name}, token by token"]
        return [free[-1][1] / forced[-1][1] for free, forced in zip(alone, times[name], strict=True)]

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
        "and it gains more from it than the LSTM",
        [ours / theirs for ours, theirs in zip(gained(TRANSFORMER), gained(LSTM), strict=True)],
        "times",
        more_than=2,
    )


@torch.inference_mode()
def _difference(model: Model, target: Tensor) -> float:
    return (all_at_once(model, target) - token_by_token(model, target, true=True)).abs().max().item()


def _panels(tokens: int, times: dict[str, list[Points]], chains: dict[str, Points]) -> list[Panel]:
    names = [(mode.name, COLOURS[index], not mode.forced) for index, mode in enumerate(MODES)]
    timed = [Line(name, curve, colour, dashed=dash) for name, colour, dash in names for curve in times[name]]
    chained = [Line(name, chains[name], colour) for name, colour, _ in names if name in chains]
    axes = {"x": Axis("length of a row", log=True), "y": Axis(log=True)}
    title = f"milliseconds for a training step on {tokens:,} tokens, a line for each seed"
    return [Panel(title, timed, **axes), Panel("operations in sequence, with teacher forcing", chained, **axes)]


LESSON = Lesson(
    name="teacher-forcing",
    claim="With teacher forcing a Transformer trains on all positions at once; a recurrent network cannot.",
    after="Vaswani et al. 2017, sections 1 and 3.2.3; Williams & Zipser 1989",
    run=run,
    formula="p(y) = Π_t p(y_t | y_1 … y_(t-1)), all t at once where no state is carried",
    model=("source", "encoder", "true target, shifted", "decoder", "every next token at once"),
)
