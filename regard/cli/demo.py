"""regard demo."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.pipeline import Pipeline, Result

RECIPE = "dates"
SHOWN = 8


def demo(*, out: Path = Path("runs/dates")) -> int:
    """Train the embedded default (dates, English to French), then show results, attention and what to do next.

    Parameters
    ----------
    out
        The run directory; a run that is there already is shown, or gone on with where it stopped.
    """
    from regard.config import SearchSettings, read_recipe, settle
    from regard.evaluation import render
    from regard.experiment import run_experiment
    from regard.pipeline import load

    if not _trained(out):
        result = run_experiment(settle(read_recipe(RECIPE), where=RECIPE), out, resume=(out / "run.json").is_file())
        if result.status == "interrupted":
            return 130
    else:
        print(f"{out} is trained already; remove it to train again\n", file=sys.stderr)
    model = load(out)
    examples = model.run.examples("test")
    _table(model, [(example.source, example.target) for example in examples[:SHOWN]])
    print(f"\nThe {len(examples)} test dates, none of which was seen in training:\n")
    print(render(model.evaluate(examples, SearchSettings(beams=1))))
    source = max((example.source for example in examples[:SHOWN]), key=len)
    result = model.translate(source)
    _attention(source, result, out / "attention.svg")
    regard = "regard" if shutil.which("regard") else sys.argv[0]  # what a person can type here
    print("\nWhat to do next:")
    print(f'  {regard} translate {out} "{source}"')
    print(f'  {regard} look {out} "{source}" --out map.html')
    print(f"  {regard} train --data.pairs YOUR.tsv --model.preset transformer --out runs/mine")
    return 0


def _trained(out: Path) -> bool:
    from regard.checkpoint import is_run, read_facts

    return is_run(out) and read_facts(out).get("status") == "finished"


def _table(model: Pipeline, pairs: list[tuple[str, str]]) -> None:
    results = model.translate([source for source, _ in pairs], beams=1)
    width = max(len(source) for source, _ in pairs)
    print("\nUnseen dates:\n")
    for (source, target), result in zip(pairs, results, strict=True):
        verdict = "right" if result.text == target else f"wrong, it is {target}"
        print(f"  {source:<{width}}  →  {result.text}  ({verdict})")


def _attention(source: str, result: Result, path: Path) -> None:
    attention = result.attention()
    print(f"\nWhat {attention.name} looked at while writing (mean of {attention.heads} heads):\n\n{attention.text()}")
    print(f"\nEvery head apart: {attention.save(path)}; the training curve: {path.with_name('curve.svg')}")
