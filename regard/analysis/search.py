"""A beam search as text: what was kept at each step, what ended, and the way to the winner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regard.data.tokenizer import EOS
from regard.decoding.tree import BeamTree, Node


def tree_text(tree: BeamTree, decode: Callable[[Sequence[int]], str]) -> str:
    """A block a step; * marks the way to the winner, ■ what ended there with its length-normalised score."""
    way = tree.lineage()
    lines = []
    for step, nodes in enumerate(tree.steps, start=1):
        lines.append(f"step {step}")
        lines += [_line(node, node.tokens in way, decode) for node in nodes]
    return "\n".join(lines)


def _line(node: Node, on_the_way: bool, decode: Callable[[Sequence[int]], str]) -> str:
    ended = "" if node.score is None else f"  ■ score {node.score:.3f}"
    text = decode([token for token in node.tokens if token != EOS])
    return f"  {'*' if on_the_way else ' '} {node.log_prob:8.3f}  {text}{ended}"
