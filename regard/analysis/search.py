"""A beam search as text and as a picture: what was kept at each step, what ended, and the way to the winner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from regard.analysis.maps import visible
from regard.data.codecs import TargetCodec
from regard.data.vocabulary import BOS, EOS
from regard.errors import UserError
from regard.files import write_text
from regard.inference.beam_tree import BeamTree, Node

BOX, ACROSS, DOWN, LEFT, TOP = (104, 34), 140, 44, 16, 64  # a node's size, the steps between nodes, the margins
STYLE = """
  text { font-family: system-ui, sans-serif; font-size: 12px; fill: #1c2430; }
  .number { font-size: 10px; fill: #667085; }
  path { fill: none; stroke: #98a2b3; }
  .box { fill: #f6f8fc; stroke: #98a2b3; }
  .way > .box { fill: #dbe7fb; stroke: #0b3d91; stroke-width: 2; }
  path.way { stroke: #0b3d91; stroke-width: 2.5; }
  .pruned { opacity: .35; }
"""


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
    return f"  {'*' if on_the_way else ' '} {node.log_prob:8.3f}  {_text(node, decode)}{ended}"


def _text(node: Node, decode: Callable[[Sequence[int]], str]) -> str:
    return decode([token for token in node.tokens if token != EOS])


def tree_svg(tree: BeamTree, codec: TargetCodec, title: str) -> str:
    """A column a step, the most probable at the top. Blue: the way to the winner. Pale: led to no end, and was dropped.

    In a box: the token, below it the log-probability of all so far; of what ended (■) the score, too.
    """
    way, lasting = tree.lineage() | {()}, _lasting(tree)
    places: dict[tuple[int, ...], tuple[int, int]] = {(): (LEFT, TOP)}
    edges, boxes = [], [_box((LEFT, TOP), codec.tokens([BOS])[0], "", "the start", "way")]
    for step, nodes in enumerate(tree.steps, start=1):
        x = LEFT + step * ACROSS
        boxes.append(f'<text class="number" x="{x}" y="{TOP - 10}">step {step}</text>')
        for rank, node in enumerate(nodes):
            kind = "way" if node.tokens in way else "kept" if node.tokens in lasting else "pruned"
            places[node.tokens] = x, TOP + rank * DOWN
            edges.append(_edge(places[node.parent], places[node.tokens], kind))
            numbers = f"{node.log_prob:.3f}" + ("" if node.score is None else f"  ■ {node.score:.3f}")
            label = "■ end" if node.tokens[-1] == EOS else visible(codec.tokens(node.tokens[-1:])[0])
            boxes.append(_box(places[node.tokens], label, numbers, _text(node, codec.decode), kind))
    width = max(LEFT + (len(tree.steps) + 1) * ACROSS, LEFT + 8 * len(title))
    height = TOP + max(map(len, tree.steps)) * DOWN + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="{LEFT}" y="24" style="font-size:14px">{escape(title)}</text>{"".join(edges + boxes)}</svg>\n'
    )


def save_tree(path: Path, tree: BeamTree, codec: TargetCodec, title: str) -> Path:
    """As .svg, or as .html, which is the same in a page."""
    picture = tree_svg(tree, codec, title)
    match path.suffix:
        case ".svg":
            write_text(path, picture)
        case ".html":
            head = (
                f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>regard: {escape(title)}</title>\n'
            )
            write_text(path, f'{head}<body style="margin:1rem;background:#fff">\n{picture}</body>\n</html>\n')
        case _:
            raise UserError(f"{path}: a tree is saved as .svg or .html; name the file so")
    return path


def _lasting(tree: BeamTree) -> set[tuple[int, ...]]:
    """The nodes from which some hypothesis reached its end."""
    ended = [node.tokens for nodes in tree.steps for node in nodes if node.score is not None]
    return {tokens[:length] for tokens in ended for length in range(1, len(tokens) + 1)}


def _edge(start: tuple[int, int], end: tuple[int, int], kind: str) -> str:
    (x, y), (to_x, to_y) = (start[0] + BOX[0], start[1] + BOX[1] // 2), (end[0], end[1] + BOX[1] // 2)
    middle = (x + to_x) // 2
    return f'<path class="{kind}" d="M{x} {y} C{middle} {y} {middle} {to_y} {to_x} {to_y}"/>'


def _box(place: tuple[int, int], label: str, numbers: str, told: str, kind: str) -> str:
    x, y = place
    short = label if len(label) <= 14 else f"{label[:13]}…"
    return (
        f'<g class="{kind}"><title>{escape(f"{told} {numbers}".strip())}</title>'
        f'<rect class="box" x="{x}" y="{y}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
        f'<text x="{x + 8}" y="{y + 14}">{escape(short)}</text>'
        f'<text class="number" x="{x + 8}" y="{y + 28}">{escape(numbers)}</text></g>'
    )
