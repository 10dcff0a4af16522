"""What the outputs of a whole input come to: numbers that are missing, terms that were kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from regard.data.embedded import EMBEDDED
from regard.pipeline.interface import Pipeline
from regard.pipeline.result import Result

SHOWN = 5  # lines that a summary names


def doubtful(result: Result) -> str:
    """What a person should look at in an output; empty where there is nothing."""
    parts = [result.review] if result.review else []
    if result.missing_numbers:
        parts.append(f"number {' '.join(result.missing_numbers)} missing")
    parts += [f"term {term.target} missing" for term in result.terms if not term.kept]
    return ", ".join(parts)


def line_problems(number: int, result: Result) -> list[str]:
    """What a user of a text file is told at once."""
    said = [f"{result.problem}; its output is empty"] if result.problem else []
    said += [f"look at this output: {result.review}"] if result.review else []
    return [f"line {number}: {problem}" for problem in said]


@dataclass
class OutputChecks:
    """Counts. `numbers`: they are looked at; tasks that compute with numbers have others in their outputs."""

    numbers: bool
    outputs: int = 0
    truncated: int = 0
    missing: list[str] = field(default_factory=list)  # lines whose outputs lack a number
    terms: int = 0
    kept: int = 0
    forced: int = 0

    @classmethod
    def of(cls, pipeline: Pipeline) -> Self:
        return cls(numbers=pipeline.run.plan.data.corpus not in EMBEDDED)

    def add(self, number: int, result: Result) -> list[str]:
        """Count a result; what is to be said of its line at once."""
        self.outputs += 1
        self.truncated += result.truncated
        if self.numbers and result.missing_numbers:
            self.missing.append(f"{number}: {' '.join(result.missing_numbers)}")
        self.terms += len(result.terms)
        self.kept += sum(term.kept for term in result.terms)
        self.forced += sum(term.forced for term in result.terms)
        return line_problems(number, result)

    def summary(self) -> list[str]:
        lines = []
        if self.missing:
            more = "; …" if len(self.missing) > SHOWN else ""
            shown = "; ".join(self.missing[:SHOWN])
            lines.append(
                f"{len(self.missing)} of {self.outputs} outputs lack a number of their source (line {shown}{more})"
            )
        if self.terms:
            lines.append(f"glossary: {self.kept} of {self.terms} terms kept, {self.forced} of them forced")
        if self.truncated:
            lines.append(
                f"{self.truncated} of {self.outputs} outputs reached the length limit; raise --max-tokens for more"
            )
        return lines
