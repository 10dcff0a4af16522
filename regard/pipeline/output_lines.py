"""Results as lines of text, the output format of `regard translate`."""

from __future__ import annotations

import json

from regard.pipeline.result import Result


def output_line(
    number: int,
    result: Result,
    n_best: int = 1,
    as_json: bool = False,
    escape: bool = True,
    confidence: bool = False,
) -> str:
    """One line a result; with n_best above 1 a line for each output: number of the input TAB score TAB output.

    `escape`: a line break inside an output becomes \\n, so that n inputs are n lines. `confidence`: it comes before the
    output, which is the best alone.
    """
    if as_json:
        return json.dumps(
            result.as_dict() | ({"confidence": result.confidence} if confidence else {}), ensure_ascii=False
        )
    if confidence and result.confidence is not None:
        return f"{result.confidence:.3f}\t{_escaped(result.text) if escape else result.text}"
    if result.probabilities:
        classes = list(result.probabilities.items())[:n_best]
        if n_best > 1:
            return "\n".join(f"{number}\t{probability:.4f}\t{name}" for name, probability in classes)
        return "".join(f"{name}\t{probability:.4f}" for name, probability in classes)
    if n_best > 1 and result.alternatives:
        return "\n".join(f"{number}\t{best.score:.4f}\t{_escaped(best.text)}" for best in result.alternatives)
    return _escaped(result.text) if escape else result.text


def _escaped(text: str) -> str:
    if "\n" not in text and "\r" not in text:
        return text
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
