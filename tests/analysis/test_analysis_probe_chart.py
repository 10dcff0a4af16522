"""The chart of a probe names every layer and draws the baselines beside it."""

from __future__ import annotations

from xml.etree import ElementTree

from regard.analysis.probe_chart import probe_chart
from regard.analysis.probes import ProbeReport, ProbeRow

SVG = "{http://www.w3.org/2000/svg}"


def test_a_point_for_each_layer_and_a_line_for_each_baseline() -> None:
    layers = ("encoder.embedding", "encoder.layers.0", "decoder.layers.0")
    rows = tuple(ProbeRow(layer, 50.0 + 10 * i, 20.0, 30.0, 40.0, None, None) for i, layer in enumerate(layers))
    root = ElementTree.fromstring(probe_chart(ProbeReport("upos", 5, 100, rows)))
    lines = {line.find(f"{SVG}title").text: line.attrib["points"].split() for line in root.iter(f"{SVG}polyline")}
    assert list(lines) == ["probe", "random weights", "control task", "majority"]
    heights = [float(point.split(",")[1]) for point in lines["probe"]]
    assert len(heights) == 3 and heights == sorted(heights, reverse=True)  # y grows downwards
    assert set(layers) <= {text.text for text in root.iter(f"{SVG}text")}
