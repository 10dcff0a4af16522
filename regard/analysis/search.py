"""A beam search as text and as a picture: what was kept at each step, what ended, and the way to the winner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from regard.analysis.maps import visible
from regard.analysis.view import NodeRecord, TreeRecord
from regard.data.codecs import TargetCodec
from regard.data.vocabulary import BOS, EOS
from regard.inference.beam_tree import BeamTree, Node
from regard.plotting import save_picture
from regard.plotting.tree import Box, draw_tree


def tree_text(tree: BeamTree, decode: Callable[[Sequence[int]], str]) -> str:
    """A block a step; * marks the way to the winner, ■ what ended there with its length-normalised score."""
    path = tree.lineage()
    lines = []
    for step, nodes in enumerate(tree.steps, start=1):
        lines.append(f"step {step}")
        lines += [_line(node, node.tokens in path, decode) for node in nodes]
    return "\n".join(lines)


def _line(node: Node, on_the_way: bool, decode: Callable[[Sequence[int]], str]) -> str:
    ended = "" if node.score is None else f"  ■ score {node.score:.3f}"
    return f"  {'*' if on_the_way else ' '} {node.log_prob:8.3f}  {_text(node, decode)}{ended}"


def _text(node: Node, decode: Callable[[Sequence[int]], str]) -> str:
    return decode([token for token in node.tokens if token != EOS])


def tree_svg(tree: BeamTree, codec: TargetCodec, title: str) -> str:
    """A column for each step, the most probable at the top. Blue: the path to the winner. Pale: pruned before any end.

    In a box: the token, below it the log-probability of all so far; of what ended (■) also the score.
    """
    record = tree_record(tree, codec, title)
    levels = [[Box(record.root, hover="the start", kind="best")]]
    for nodes in record.steps:
        boxes = []
        for node in nodes:
            numbers = f"{node.log_prob:.3f}" + ("" if node.score is None else f"  ■ {node.score:.3f}")
            label = "■ end" if node.id == EOS else visible(node.token)
            boxes.append(Box(label, numbers, f"{node.text} {numbers}", node.state, node.parent))
        levels.append(boxes)
    return draw_tree(title, levels)


def tree_record(tree: BeamTree, codec: TargetCodec, title: str) -> TreeRecord:
    """The tree for a viewer and for the picture."""
    winner, lasting = tree.lineage(), _lasting(tree)
    steps = []
    parents: dict[tuple[int, ...], int] = {(): 0}  # the row of each node in its step
    for nodes in tree.steps:
        records = []
        for node in nodes:
            (token,) = codec.tokens(node.tokens[-1:])
            state = "best" if node.tokens in winner else "kept" if node.tokens in lasting else "pruned"
            score = None if node.score is None else round(node.score, 4)
            numbers = parents[node.parent], _text(node, codec.decode), round(node.log_prob, 4), score
            records.append(NodeRecord(token, node.tokens[-1], *numbers, state))
        parents = {node.tokens: row for row, node in enumerate(nodes)}
        steps.append(tuple(records))
    text = codec.decode([token for token in tree.best if token != EOS])
    return TreeRecord(title, codec.tokens([BOS])[0], tuple(steps), text)


def save_tree(path: Path, tree: BeamTree, codec: TargetCodec, title: str) -> Path:
    """As .svg, .png or .html, where the arrow keys step through it."""
    if path.suffix == ".html":
        return tree_record(tree, codec, title).save(path)
    return save_picture(path, tree_svg(tree, codec, title))


def _lasting(tree: BeamTree) -> set[tuple[int, ...]]:
    """The nodes from which some hypothesis reached its end."""
    ended = [node.tokens for nodes in tree.steps for node in nodes if node.score is not None]
    return {tokens[:length] for tokens in ended for length in range(1, len(tokens) + 1)}
