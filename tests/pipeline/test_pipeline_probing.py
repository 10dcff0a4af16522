"""What `regard probe` does, from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.pipeline.probing import head_ablation, head_roles, probe, probe_data, syntactic_heads


def test_positions_and_tags(translator_run: Path, tmp_path: Path) -> None:
    pipeline = regard.load(translator_run, threads=1)
    traced: list[int] = []
    report = probe(pipeline, probe_data(pipeline, sentences=15), seed=2, progress=traced.append)
    assert report.target == "position" and sum(traced) == 2 * 15
    (tmp_path / "tags").write_text("a\tone\nb\ttwo\n\nb\ttwo\na\tone\n\n" * 5)
    data = probe_data(pipeline, tmp_path / "tags", sentences=10)
    assert [example.source for example in data.examples[:2]] == ["a b", "b a"]
    assert data.examples[0].target == pipeline.translate("a b", beams=1).text
    assert probe(pipeline, data).classes == 2
    with pytest.raises(regard.UserError, match="holds 9 development examples; a probe needs 10"):
        probe_data(pipeline, sentences=9)


def test_heads(translator_run: Path, language_run: Path) -> None:
    pipeline = regard.load(translator_run, threads=1)
    examples = pipeline.run.examples("dev")[:5]
    silenced: list[int] = []
    report = head_ablation(pipeline, examples, silenced.append)
    assert report.sentences == 5 and len(report.rows) == sum(silenced) == 9
    assert head_roles(pipeline, examples).sentences == 5
    for analysis in (head_ablation, head_roles):
        with pytest.raises(regard.UserError, match="no attention"):
            analysis(regard.load(language_run, threads=1), [regard.load(language_run).run.examples("dev")[0]])


def test_syntactic_heads(translator_run: Path, tmp_path: Path) -> None:
    pipeline = regard.load(translator_run, threads=1)
    rows = ["1\tab\t_\tX\t_\t_\t2\tx\t_\t_", "2\tc\t_\tX\t_\t_\t0\troot\t_\t_", "3\td\t_\tX\t_\t_\t2\tx\t_\t_"]
    (tmp_path / "trees.conllu").write_text("\n".join(rows) + "\n")
    known = syntactic_heads(pipeline, tmp_path / "trees.conllu")
    ((example, truth),) = known.items()
    assert example.source == "ab c d"
    assert [(span.start, head.start) for span, head in truth.heads] == [(0, 3), (5, 3)]
    report = head_roles(pipeline, list(known), known=known)
    head = next(head for head in report.heads if head.attention.startswith("encoder"))
    share = head.shares["syntactic head"]
    assert share.queries == 3 and share.chance == pytest.approx(1 / 7)  # a, b and d; seven tokens with the end
    (tmp_path / "flat.tsv").write_text("a\tN\n")
    with pytest.raises(regard.UserError, match="has no heads; give CoNLL-U"):
        syntactic_heads(pipeline, tmp_path / "flat.tsv")
