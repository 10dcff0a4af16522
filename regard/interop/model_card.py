"""A model card (Mitchell 2019): what a model was trained on, how good it is, what it is for, and how it is loaded."""

from __future__ import annotations

import json
from typing import Any

from regard.checkpoint import EVALUATION, Run, package_version
from regard.errors import UserError
from regard.files import write_text

CARD = "README.md"  # in an export
USES = {
    "translation": "Turning a source into a target of the kind that it was trained on, a sentence at a time.",
    "continuation": "Continuing a text of the kind that it was trained on.",
    "captioning": "Describing images of the kind that it was trained on.",
    "classification": "Choosing a class for a text or an image of the kind that it was trained on.",
    "tagging": "Labelling the words of a text of the kind that it was trained on.",
}
LIMITS = (
    "It knows what its training data shows, and repeats their mistakes and their bias.",
    "It does not know when it is wrong: an output may be fluent and false, of unusual inputs above all.",
    "The scores hold for data like those they were measured on, and for no others.",
)


def model_card(run: Run, loading: str) -> str:
    """The card of a run in Markdown. `loading`: lines that load this export."""
    facts = run.facts
    front = ["---", *_front(run), "---", ""]
    data = [f"- {name}: {value}" for name, value in _data(run)]
    size = [f"- {name}: {value}" for name, value in _size(run)]
    lines = [
        *front,
        f"# {run.path.resolve().name}",
        "",
        f"A model for {facts['task']}, trained with regard {facts.get('regard', package_version())}.",
        "",
        *("## Use", "", USES[run.task], "", "```", *loading.splitlines(), "```", ""),
        *("## Data", "", *data, ""),
        *("## Size", "", *size, ""),
        *("## Scores", "", *_scores(run), ""),
        *("## Limits", "", *(f"- {limit}" for limit in LIMITS), ""),
    ]
    return "\n".join(lines)


def _front(run: Run) -> list[str]:
    """What the Hugging Face hub reads."""
    data, licence = run.plan.data, origin(run).get("licence")
    languages = [language for language in (data.source_language, data.target_language) if language]
    lines = ["library_name: regard"]
    if licence and licence != "not stated":
        lines.append(f"license: {json.dumps(licence)}")
    return [*lines, *([f"language: {json.dumps(languages)}"] if languages else [])]


def origin(run: Run) -> dict[str, Any]:
    """Where the weights began, as their source states it; empty for a run that was trained from nothing."""
    return run.facts.get("origin") or {}


def _data(run: Run) -> list[tuple[str, str]]:
    facts, came = run.facts, origin(run)
    rows = []
    if came:
        rows.append(("weights from", f"{came['name']} ({came['format']}), licence {came['licence']}"))
    rows.append(("corpus", str(facts.get("corpus", "not stated"))))
    pairs = facts.get("pairs") or {}
    if pairs:
        rows.append(("pairs", ", ".join(f"{count:,} {split}" for split, count in pairs.items())))
    rows += [(f"{side} language", code) for side, code in _languages(run)]
    rows += [("note", str(note)) for note in facts.get("notes", ())]
    return [*rows, ("licence of the data", "as their owners state it; regard does not know")] if not came else rows


def _languages(run: Run) -> list[tuple[str, str]]:
    data = run.plan.data
    sides = (("source", data.source_language), ("target", data.target_language))
    return [(side, code) for side, code in sides if code]


def _size(run: Run) -> list[tuple[str, str]]:
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    model = run.plan.model
    sides = f"{model.encoder} encoder, {model.decoder} decoder" if model.encoder != "none" else f"{model.decoder}"
    return [
        ("parameters", f"{parameters:,}"),
        ("architecture", f"{model.preset or 'named by its parts'} ({sides}, width {model.width})"),
        ("vocabulary", f"{run.source_codec.size:,} source, {run.target_codec.size:,} target entries"),
    ]


def _scores(run: Run) -> list[str]:
    """Of the evaluation that was stored of these weights; else of the last validation."""
    results = run.facts.get("results") or {}
    report = read_evaluation(run)
    if report is not None:
        return report
    dev = results.get("dev") or {}
    measure = "`regard evaluate RUN --save` measures the test set for the next export."
    if not dev:
        return [f"None were measured: {measure}"]
    scores = ", ".join(f"{name} {value:.4g}" for name, value in dev.items())
    return [f"On the development set, at the end of training: {scores}. {measure}"]


def read_evaluation(run: Run) -> list[str] | None:
    """The scores that `regard evaluate --save` stored, as lines; None: none are stored, or of other weights."""
    file = run.path / EVALUATION
    if not file.is_file():
        return None
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        report, split, step = stored["report"], stored["split"], stored["step"]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{file} is damaged; write it again with `regard evaluate {run.path} --save`") from None
    if step != training_step(run):
        return None
    lines = [f"On the {split} set ({stored['regard']}):", ""]
    for name, value in report.items():
        if isinstance(value, dict) and isinstance(value.get("value"), int | float) and "name" in value:
            signature = f" (`{value['signature']}`)" if value.get("signature") else ""
            lines.append(f"- {value['name']} {value['value']:.2f}{signature}")
        elif isinstance(value, int | float):
            lines.append(f"- {name.replace('_', ' ')} {value:g}")
    return lines


def write_evaluation(run: Run, split: str, report: dict[str, Any]) -> None:
    """For the cards of later exports."""
    record = {"regard": f"regard {package_version()}", "step": training_step(run), "split": split, "report": report}
    write_text(run.path / EVALUATION, json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def training_step(run: Run) -> int | None:
    """Of which the weights are."""
    return (run.facts.get("results") or {}).get("step")
