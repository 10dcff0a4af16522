"""Lessons as text for a terminal, and as one page that works offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from regard.apps.lessons.contract import Finding, Lesson, Table, Verdict
from regard.plotting import page, table

STYLE = """
  section { border-top: 1px solid #8c959f55; margin-top: 2.5rem; padding-top: .5rem }
  .claim { font-size: 1.1rem } .after { color: #667085 } nav li { margin: .15rem 0 }
"""


@dataclass(frozen=True)
class Held:
    """A lesson that was given: what came out, and what it took."""

    lesson: Lesson
    finding: Finding
    size: str
    seeds: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        head = {"lesson": self.lesson.name, "claim": self.lesson.claim, "size": self.size, "seeds": self.seeds}
        return {**head, "seconds": round(self.seconds, 1), **self.finding.as_dict()}


def text(held: Held) -> str:
    """The claim, the experiment, the numbers, the verdict."""
    finding = held.finding
    parts = [f"{held.lesson.name}: {held.lesson.claim}", finding.experiment]
    parts += [_plain_table(one) for one in finding.tables]
    parts.append("\n".join(_verdict_line(one) for one in finding.verdicts))
    parts.append(f"verdict: {_word(finding.holds)} ({_about(held)})")
    return "\n\n".join(parts) + "\n"


def html(held: Sequence[Held]) -> str:
    """All of them with their figures, and a list of verdicts first."""
    links = [
        f'<li><span class="{_class(one.finding.holds)}">{_word(one.finding.holds)}</span> · '
        f'<a href="#{one.lesson.name}">{one.lesson.name}</a>: {escape(one.lesson.claim)}</li>'
        for one in held
    ]
    parts = [f"<nav><ul>{''.join(links)}</ul></nav>"] if len(held) > 1 else []
    return page("Lessons", [*parts, *map(_section, held)], STYLE)


def json_text(held: Sequence[Held]) -> str:
    return json.dumps([one.as_dict() for one in held], ensure_ascii=False, indent=1) + "\n"


def _section(held: Held) -> str:
    lesson, finding = held.lesson, held.finding
    parts = [
        f'<h2>{lesson.name}</h2><p class="claim">{escape(lesson.claim)}</p><p class="after">{escape(lesson.after)}</p>',
        f"<p>{escape(finding.experiment)}</p>",
        *finding.figures,
        *(table(list(map(escape, one.titles)), [list(map(escape, row)) for row in one.rows]) for one in finding.tables),
        "<ul>" + "".join(f"<li>{_verdict_html(one)}</li>" for one in finding.verdicts) + "</ul>",
        f'<p><b class="{_class(finding.holds)}">{_word(finding.holds)}</b> ({escape(_about(held))})</p>',
    ]
    return f'<section id="{lesson.name}">' + "\n".join(parts) + "</section>"


def _plain_table(one: Table) -> str:
    rows = [one.titles, *one.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(one.titles))]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _verdict_line(one: Verdict) -> str:
    return f"{_sign(one.holds)} {one.about}: {one.margin}"


def _verdict_html(one: Verdict) -> str:
    sign = f'<span class="{_class(one.holds)}">{_sign(one.holds)}</span>'
    return f"{sign} {escape(one.about)}: {escape(one.margin)}"


def _sign(holds: bool) -> str:
    return "✓" if holds else "✗"


def _about(held: Held) -> str:
    seeds = f"{held.seeds} seeds" if held.seeds > 1 else "one seed"
    proves = "; a tiny setting proves nothing" if held.size == "tiny" else ""
    return f"{held.size} setting, {seeds}, {held.seconds:.0f} s{proves}"


def _word(holds: bool) -> str:
    return "holds" if holds else "does not hold here"


def _class(holds: bool) -> str:
    return "right" if holds else "wrong"
