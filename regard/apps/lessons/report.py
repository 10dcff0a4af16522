"""Lessons as text for a terminal, and as one page that works offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from regard.apps.lessons.lesson import Finding, Lesson, Table, Verdict
from regard.plotting import flow, page, table

# At 1280 pixels, as a projector shows it, a figure's text is 24 pixels high: 14.5 of the 760 units of its width.
STYLE = """
  body { max-width: 80rem }
  section { border-top: 1px solid #8c959f55; margin-top: 3rem; padding-top: .5rem }
  h2 { font-size: 2.2rem; margin: .5rem 0 } .verdict { float: right; font-size: 1.6rem; font-weight: 600 }
  .claim { font-size: 1.9rem; line-height: 1.25; margin: .4rem 0 }
  .formula { font: 1.5rem/1.6 ui-monospace, monospace; white-space: pre-wrap; margin: .6rem 0 }
  .figure svg { width: 100%; height: auto; max-height: 92vh } .figure svg text { font-size: 14.5px }
  .after, .numbers { color: #667085 } .numbers { font-size: .85rem } nav li { margin: .15rem 0 }
"""
# Scripts that a system's fonts often lack, by the first and last letter of their blocks.
SCRIPTS = {
    "Chinese, Japanese or Korean": ("\u2e80", "\uffdc"),
    "Arabic": ("\u0600", "\u06ff"),
    "Devanagari": ("\u0900", "\u097f"),
}


@dataclass(frozen=True)
class LessonResult:
    """What a lesson found, with which budget, and how long it took."""

    lesson: Lesson
    finding: Finding
    size: str
    seeds: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        head = {"lesson": self.lesson.name, "claim": self.lesson.claim, "size": self.size, "seeds": self.seeds}
        return {**head, "seconds": round(self.seconds, 1), **self.finding.as_dict()}


def text(result: LessonResult) -> str:
    """The claim, the experiment, the numbers, the verdict."""
    finding = result.finding
    parts = [f"{result.lesson.name}: {result.lesson.claim}", finding.experiment]
    parts += map(_plain_table, finding.tables)
    parts.append("\n".join(map(_verdict_line, finding.verdicts)))
    parts.append(f"verdict: {_word(finding.holds)} ({_about(result)})")
    return "\n\n".join(parts) + "\n"


def html(results: Sequence[LessonResult]) -> str:
    """A page of all results with their figures; of several, a list of verdicts first."""
    links = [
        f'<li><span class="{_class(result.finding.holds)}">{_word(result.finding.holds)}</span> · '
        f'<a href="#{result.lesson.name}">{result.lesson.name}</a>: {escape(result.lesson.claim)}</li>'
        for result in results
    ]
    parts = [f"<nav><ul>{''.join(links)}</ul></nav>"] if len(results) > 1 else []
    return page("Lessons", [*parts, *map(_section, results)], STYLE)


def json_text(results: Sequence[LessonResult]) -> str:
    return json.dumps([result.as_dict() for result in results], ensure_ascii=False, indent=1) + "\n"


def _section(result: LessonResult) -> str:
    """The verdict and the claim; the picture, large; the formula and the model; and the numbers, small."""
    lesson, finding = result.lesson, result.finding
    first, *others = finding.figures
    parts = [
        f'<span class="verdict {_class(finding.holds)}">{_sign(finding.holds)} {_word(finding.holds)}</span>',
        f'<h2>{lesson.name}</h2><p class="claim">{escape(lesson.claim)}</p>',
        _figure(first),
        f'<p class="formula">{escape(lesson.formula)}</p>' if lesson.formula else "",
        _figure(flow(f"the model of {lesson.name}", lesson.model)) if lesson.model else "",
        *map(_figure, others),
        f'<div class="numbers"><p>{escape(finding.experiment)}</p>',
        *map(_html_table, finding.tables),
        "<ul>" + "".join(f"<li>{_verdict_html(verdict)}</li>" for verdict in finding.verdicts) + "</ul>",
        f'<p>{escape(_about(result))}</p><p class="after">{escape(lesson.after)}</p>{_font_note(finding)}</div>',
    ]
    return f'<section id="{lesson.name}">' + "\n".join(parts) + "</section>"


def _figure(svg: str) -> str:
    return f'<div class="figure">{svg}</div>'


def _font_note(finding: Finding) -> str:
    """That boxes in place of letters are the font's fault, where a figure has letters that fonts often lack."""
    letters = set("".join(finding.figures))
    scripts = [name for name, (first, last) in SCRIPTS.items() if any(first <= letter <= last for letter in letters)]
    if not scripts:
        return ""
    return f"<p>Labels in {' and '.join(scripts)}: where boxes stand for letters, no font for them is installed.</p>"


def _html_table(content: Table) -> str:
    return table(list(map(escape, content.titles)), [list(map(escape, row)) for row in content.rows])


def _plain_table(content: Table) -> str:
    rows = [content.titles, *content.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(content.titles))]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _verdict_line(verdict: Verdict) -> str:
    return f"{_sign(verdict.holds)} {verdict.about}: {verdict.margin}"


def _verdict_html(verdict: Verdict) -> str:
    sign = f'<span class="{_class(verdict.holds)}">{_sign(verdict.holds)}</span>'
    return f"{sign} {escape(verdict.about)}: {escape(verdict.margin)}"


def _sign(holds: bool) -> str:
    return "✓" if holds else "✗"


def _about(result: LessonResult) -> str:
    seeds = f"{result.seeds} seeds" if result.seeds > 1 else "one seed"
    warning = "; the tiny size proves nothing" if result.size == "tiny" else ""
    return f"{result.size} size, {seeds}, {result.seconds:.0f} s{warning}"


def _word(holds: bool) -> str:
    return "holds" if holds else "does not hold here"


def _class(holds: bool) -> str:
    return "right" if holds else "wrong"
