"""Traces: many at once are those one by one; rollouts by hand; receptive fields as gradients find them; pictures."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from regard.analysis.receptive import receptive_fields
from regard.analysis.rollout import cross_rollout, self_rollout
from regard.analysis.trace import ForcedPair, Trace, trace, traces
from regard.config import plan_model, settle
from regard.errors import UserError
from regard.kernels.fusion import fuse
from regard.models.build import build_model
from regard.models.seq2seq import Model
from regard.nn.taps import watching


def model_of(preset: str, **fields: object) -> Model:
    config = plan_model(settle({"model": {"preset": preset, "width": 12, "heads": 2, "depth": 2, **fields}}).model)
    return fuse(build_model(config, 9, 9, False, seed=1)).eval()


def forced_pair(source: list[int], target: list[int]) -> ForcedPair:
    tokens = tuple(f" w{i}" for i in source), tuple(f" v{i}" for i in target)
    return ForcedPair(source, [1, *target], (*tokens[0], "</s>"), ("<s>", *tokens[1]), (*tokens[1], "</s>"))


@pytest.mark.parametrize("preset", ["transformer", "lstm-additive", "convolution", "transformer-language"])
def test_many_traces_are_those_of_one_by_one(preset: str) -> None:
    model = model_of(preset)
    given = [
        forced_pair([3, 4, 5], [6, 7]),
        forced_pair([8], [3]),
        forced_pair([5, 6, 7], [4, 3]),
        forced_pair([3, 4, 5], [6]),
    ]
    counted: list[int] = []
    together = traces(model, given, counted.append)
    assert sum(counted) == 4 and len(counted) == 3  # two have the same lengths
    for one, alone in zip(together, (trace(model, each) for each in given), strict=True):
        assert one.source_tokens == alone.source_tokens and one.tensors.keys() == alone.tensors.keys()
        for name, tensor in one.tensors.items():
            torch.testing.assert_close(tensor, alone.tensors[name], atol=1e-5, rtol=1e-5)


FIRST = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])  # two heads; their mean: 1 0 / ½ ½
SECOND = torch.tensor([[[0.0, 1.0], [0.0, 1.0]]])


def test_rollout_by_hand() -> None:
    """½A + ½I is (1 0; ¼ ¾) for the first layer and (½ ½; 0 1) for the second; their product is below."""
    torch.testing.assert_close(self_rollout([FIRST]), torch.tensor([[1.0, 0.0], [0.25, 0.75]]))
    torch.testing.assert_close(self_rollout([FIRST, SECOND]), torch.tensor([[0.625, 0.375], [0.25, 0.75]]))


def test_rollout_to_the_source_by_hand() -> None:
    """One decoder layer: nothing of the source before it, so half of what X R brings; a second layer halves it."""
    cross, memory = torch.tensor([[[0.0, 1.0]]]), torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    own = torch.ones(1, 1, 1)
    torch.testing.assert_close(cross_rollout([(own, cross)], memory), torch.tensor([[0.125, 0.375]]))
    torch.testing.assert_close(cross_rollout([(own, cross)] * 2, memory), torch.tensor([[0.1875, 0.5625]]))


def test_rollouts_of_models() -> None:
    found = trace(model_of("transformer"), forced_pair([3, 4, 5], [6, 7]))
    assert found.maps[-2:] == ["encoder.rollout", "decoder.rollout"]
    encoder, decoder = found.rollout("encoder"), found.attention("decoder.rollout")
    torch.testing.assert_close(encoder.weights.sum(-1), torch.ones(1, 4))
    assert decoder.weights.shape == (1, 3, 4) and decoder.rows == found.output_tokens
    torch.testing.assert_close(decoder.weights.sum(-1), torch.full((1, 3), 0.75))  # two halvings
    language = trace(model_of("transformer-language"), forced_pair([3, 4, 5], [6, 7]))
    assert language.rollout("decoder").weights.shape == (1, 7, 7) and "encoder.rollout" not in language.maps
    assert language.rollout("decoder").weights.triu(1).eq(0).all()
    with pytest.raises(UserError, match="no rollout of 'decoder'"):
        trace(model_of("lstm-dot"), forced_pair([3], [4])).rollout("decoder")


@pytest.mark.parametrize("kernel", [3, 4])
def test_receptive_fields_are_what_gradients_reach(kernel: int) -> None:
    """The state of each layer depends on the embedding of exactly those positions that the field shows."""
    model = model_of("convolution", kernel=kernel)
    source, target = torch.arange(3, 9)[None], torch.tensor([[1, 3, 4, 5, 6, 7, 8]])
    fields = receptive_fields(model, 6, 7)
    with watching(model) as watch:
        model(source, torch.ones_like(source, dtype=torch.bool), target)
    for name, field in fields.items():
        side = name.split(".")[0]
        ids, table = (source if side == "encoder" else target)[0], model.get_submodule(f"{side}.embedding").weight
        states = watch.tensors()[name.replace(".convolution", ".states")][0]
        for row, state in enumerate(states):
            (gradient,) = torch.autograd.grad(state.square().sum(), table, retain_graph=True)
            assert gradient[ids].abs().sum(-1).gt(0).tolist() == field[row].bool().tolist(), (name, row)


def test_receptive_fields_have_maps() -> None:
    found = trace(model_of("convolution"), forced_pair([3, 4, 5, 6], [6, 7]))
    field = found.attention("encoder.layers.0.convolution")
    assert field.columns == found.source_tokens and field.weights[0, 0].tolist() == [1, 1, 0, 0, 0]
    assert found.attention("decoder.layers.1.convolution").rows == found.input_tokens
    assert "encoder.layers.0.convolution" not in found.attentions


def test_all_heads_in_one_picture(tmp_path: Path) -> None:
    found = trace(model_of("transformer"), forced_pair([3, 4, 5], [6, 7]))
    text = found.save(tmp_path / "all.svg").read_text()
    ElementTree.fromstring(text)
    assert text.count(">head 1</text>") == 6 and "decoder.rollout" in text
    assert "decoder.layers.1.cross_attention" in found.save(tmp_path / "all.html").read_text()
    with pytest.raises(UserError, match=r"all\.gif"):
        found.save(tmp_path / "all.gif")
    pytest.importorskip("resvg_py")
    assert found.save(tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


def test_in_a_notebook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = trace(model_of("lstm-dot"), forced_pair([3, 4], [5]))
    one = found.attention("decoder.attention")
    assert one._repr_svg_().startswith("<svg") and found._repr_html_().startswith(
        '<iframe srcdoc="&lt;!doctype html&gt;'
    )
    assert "&quot;maps&quot;: []" in Trace({}, ("a",), ("<s>",), ("b",))._repr_html_()
    one.show()
    assert "</s>" in capsys.readouterr().out
    shown: list[object] = []
    notebook = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=None))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=shown.append))
    one.show()
    assert shown == [one] and not capsys.readouterr().out
    notebook.get_ipython = lambda: types.SimpleNamespace()  # IPython in a terminal
    one.show()
    assert len(shown) == 1 and capsys.readouterr().out
