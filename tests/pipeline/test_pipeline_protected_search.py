"""Placeholders, numbers and terms, on a generated corpus: words are translated, and move around placeholders."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.config import settle
from regard.data.glossary import Glossary, Term
from regard.data.placeholders import compare_placeholders
from regard.experiment import run_experiment

COLOURS = {"red": "rouge", "green": "vert", "blue": "bleu", "grey": "gris"}
THINGS = {"door": "porte", "lamp": "lampe", "fan": "hotte", "lock": "verrou", "window": "volet"}
VALUES = ("{name}", "%s", "%1$d", "${x}", "%(n)d", "https://a.org/q", "AB-1234", "[X7X]", "&amp;", "{{ k }}", "a@b.org")


def sentence(generator: random.Random) -> tuple[str, str]:
    """The colour follows its thing in the target, and the value comes first; a tag stays around its words."""
    colour, thing = generator.choice(list(COLOURS)), generator.choice(list(THINGS))
    first, last = generator.sample(VALUES, 2)
    match generator.randrange(4):
        case 0:
            return f"{colour} {thing}", f"{THINGS[thing]} {COLOURS[colour]}"
        case 1:
            return f"{colour} {thing} {first}", f"{first} {THINGS[thing]} {COLOURS[colour]}"
        case 2:
            return f"<b>{colour}</b> {thing} {first}", f"{first} {THINGS[thing]} <b>{COLOURS[colour]}</b>"
        case _:
            return f"{first} {thing} of {last}", f"{last} : {THINGS[thing]} {first}"


def train(folder: Path, placeholders: bool, steps: int) -> regard.Translator:
    generator = random.Random(1)
    pairs = "".join(f"{source}\t{target}\n" for source, target in (sentence(generator) for _ in range(1200)))
    folder.mkdir()
    (folder / "pairs.tsv").write_text(pairs, encoding="utf-8")
    settings = settle(
        {
            "data": {"pairs": str(folder / "pairs.tsv"), "dev_examples": 50, "test_examples": 40},
            "tokenizer": {"kind": "word", "placeholders": placeholders},
            "model": {"preset": "transformer", "width": 32, "depth": 1, "heads": 2, "dropout": 0.0},
            "training": {
                "steps": steps,
                "rate": 5e-3,
                "optimizer": "adam",
                "warmup_steps": 20,
                "batch_tokens": 512,
                "evaluate_every": 1000,
                "metric": "loss",
                "threads": 1,
            },
        }
    )
    run_experiment(settings, folder / "run", progress=False)
    model = regard.load(folder / "run", threads=1)
    assert isinstance(model, regard.Translator)
    return model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> regard.Translator:
    return train(tmp_path_factory.mktemp("protected") / "symbols", True, 200)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> regard.Translator:
    return train(tmp_path_factory.mktemp("protected") / "plain", False, 200)


def wrong(model: regard.Pipeline, **search: object) -> list[tuple[str, str, str | None]]:
    """The test's outputs that do not hold their source's placeholders; each must say so."""
    examples = model.run.examples("test")
    results = model.translate([example.source for example in examples], max_tokens=24, **search)
    assert len(results) > 30
    found = []
    for example, result in zip(examples, results, strict=True):
        differ = compare_placeholders(example.source, result.text)
        assert bool(differ) == (result.review is not None)
        if differ:
            found.append((example.source, result.text, result.review))
    return found


def test_the_vocabulary_has_symbols_and_the_model_learns_to_place_them(trained: regard.Translator):
    assert trained.run.plan.tokenizer.placeholders
    assert trained.translate("red lamp {quite_new}", beams=2).text == "{quite_new} lampe rouge"
    assert trained.translate("<i>red</i> lamp %s", beams=2).text == "%s lampe <i>rouge</i>"
    assert trained.translate("%d lamp of %x", beams=1).text == "%x : lampe %d"


@pytest.mark.parametrize("search", [{"beams": 1}, {"beams": 3, "n_best": 2}, {"sample": True, "temperature": 2.0}])
def test_every_output_holds_its_placeholders_whatever_the_model_knows(search: dict, trained: regard.Translator):
    """A model with random weights writes anything, and still drops and doubles none."""
    for model in (trained, trained.untrained()):
        assert wrong(model, **search) == []


def test_alternatives_hold_them_too(trained: regard.Translator):
    result = trained.untrained().translate("red lamp {a}", beams=4, n_best=3)
    assert len(result.alternatives) == 3
    assert all(one.text.count("{a}") == 1 for one in result.alternatives)


@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="ctranslate2 is not installed")
def test_what_ctranslate2_breaks_is_searched_again(trained: regard.Translator):
    model = regard.load(trained.run.path, threads=1, engine="ctranslate2")
    assert wrong(model, beams=2) == []


def test_without_symbols_they_are_put_back_by_the_attention(plain: regard.Translator):
    assert not plain.run.plan.tokenizer.placeholders
    for model in (plain, plain.untrained()):
        assert wrong(model, beams=1) == []
    assert plain.translate("red lamp <never>seen</never> {unseen}").text.count("{unseen}") == 1


def test_a_model_without_attention_puts_them_back_by_position(translator: regard.Pipeline):
    result = translator.translate("a <b>b</b> {x}")
    assert not compare_placeholders("a <b>b</b> {x}", result.text)


def test_more_than_the_vocabulary_has_symbols_for(trained: regard.Translator):
    text = "red " + " ".join(f"{{v{n}}}" for n in range(9)) + " <b>lamp</b> <i>door</i> <u>fan</u>"
    assert not compare_placeholders(text, trained.translate(text, beams=2).text)


def test_a_choice_is_translated_branch_by_branch(trained: regard.Translator):
    text = "{n, plural, one {red lamp {n}} other {blue lamp {n}}}"
    result = trained.translate(text, beams=2)
    assert result.text == "{n, plural, one {{n} lampe rouge} other {{n} lampe bleu}}"
    assert result.review is None
    broken = trained.translate("{n, plural, one {red}} lamp")
    assert broken.review == "a choice ICU would refuse"


def test_an_empty_text_stays_empty_and_placeholders_alone_are_copied(trained: regard.Translator):
    results = trained.translate(["", "  ", "{a}"], beams=1)
    assert [result.text for result in results[:2]] == ["", ""]
    assert results[2].text.count("{a}") == 1


def test_numbers_that_are_missing_are_told(trained: regard.Translator):
    result = trained.translate("red lamp 12345", beams=1)
    assert result.missing_numbers == (() if "12345" in result.text else ("12345",))
    assert trained.translate("red lamp", beams=1).missing_numbers == ()


def test_a_term_that_the_model_writes_itself_is_not_forced(trained: regard.Translator):
    glossary = Glossary([Term("lamp", "lampe"), Term("ladder", "échelle")])
    own = trained.translate("red lamp", beams=2)
    result = trained.translate("red lamp", glossary=glossary, beams=2)
    assert result.text == own.text == "lampe rouge"
    assert [(term.source, term.kept, term.forced) for term in result.terms] == [("lamp", True, False)]


@pytest.mark.parametrize("beams", [1, 3])
def test_a_term_that_it_does_not_write_is_forced_beside_the_placeholders(beams: int, trained: regard.Translator):
    glossary = Glossary([Term("lamp", "grand lustre"), Term("red", "écarlate")])
    for text in ("red lamp", "red lamp {a}", "<b>red</b> lamp %s"):
        result = trained.translate(text, glossary=glossary, beams=beams)
        assert "grand lustre" in result.text and "écarlate" in result.text
        assert all(term.kept and term.forced for term in result.terms) and len(result.terms) == 2
        assert not compare_placeholders(text, result.text)


def test_only_what_the_model_would_not_write_counts_as_forced(trained: regard.Translator):
    glossary = Glossary([Term("lamp", "grand lustre"), Term("red", "rouge")])
    result = trained.translate("red lamp", glossary=glossary, beams=2)
    assert {(term.target, term.kept, term.forced) for term in result.terms} == {
        ("grand lustre", True, True),
        ("rouge", True, False),
    }


def test_a_glossary_is_measured(trained: regard.Translator):
    examples = [example for example in trained.run.examples("test") if "lamp" in example.source]
    report = trained.evaluate_glossary(examples, Glossary([Term("lamp", "lustre")]))
    assert (report.sentences, report.terms) == (len(examples), len(examples))
    assert (report.kept_alone, report.kept, report.forced) == (0, len(examples), len(examples))
    assert report.chrf.value < report.chrf_alone.value
    with pytest.raises(regard.UserError, match="none of its terms is in these sources"):
        trained.evaluate_glossary(examples, Glossary([Term("ladder", "échelle")]))


def test_the_command_line_takes_a_glossary_and_says_what_to_look_at(
    trained: regard.Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run, terms = str(trained.run.path), tmp_path / "terms.tsv"
    terms.write_text("lamp\tlustre\n", encoding="utf-8")
    assert main(["translate", run, "red lamp {a}", "{n, plural, one {red}}", "--glossary", str(terms)]) == 0
    shown = capsys.readouterr()
    assert "lustre" in shown.out and "{a}" in shown.out
    assert "regard: line 2: look at this output: a choice ICU would refuse" in shown.err
    assert "regard: glossary: 1 of 1 terms kept, 1 of them forced" in shown.err
    assert main(["translate", run, "red lamp 98765", "--max-tokens", "2"]) == 0
    assert "1 of 1 outputs lack a number of their source (line 1: 98765)" in capsys.readouterr().err
    assert main(["evaluate", run, "--glossary", str(terms)]) == 0
    assert "kept with it" in capsys.readouterr().out
    terms.write_text("lamp\tlustre\tx\n", encoding="utf-8")
    for verb in (["translate", run, "red"], ["evaluate", run]):
        assert main([*verb, "--glossary", str(terms)]) == 2
        assert capsys.readouterr().err.endswith("3 columns, not 2; write a term, one tab and its translation\n")


def test_a_trace_shows_the_symbols(trained: regard.Translator):
    result = trained.translate("red lamp {a}", beams=1)
    assert "⟨1⟩" in result.trace().source_tokens and "⟨1⟩" in result.tokens
    assert "⟨1⟩" in trained.trace("red lamp {a}", "{a} lampe rouge").output_tokens


def test_a_stream_restores_them(trained: regard.Translator):
    *_, last = trained.stream("red lamp {a}")
    assert last.text == "{a} lampe rouge" and last.review is None


def test_evaluation_is_of_whole_texts(trained: regard.Translator):
    report = trained.evaluate(trained.run.examples("test"))
    assert report.bleu.value > 90
    assert report.forced is not None and report.forced.token_accuracy > 90


def test_an_engine_of_other_tasks_has_no_glossary(language_run: Path):
    with pytest.raises(regard.UserError, match="glossary"):
        regard.load(language_run, threads=1).translate("a", glossary=Glossary([]))
