"""The languages of a corpus: in a file beside the pairs, from the corpus, or from the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.config import DataSettings, settle
from regard.data.corpus import load_corpus
from regard.data.examples import Example
from regard.data.files import write_pairs
from regard.data.languages import FILE, read_languages, write_languages
from regard.errors import UserError
from regard.experiment import resolve

PAIRS = [Example(f"source {n}", f"cible {n}") for n in range(60)]


def test_a_folder_says_which_languages_it_holds(tmp_path: Path) -> None:
    write_pairs(tmp_path / "train.tsv", PAIRS)
    settings = settle({"data": {"corpus": str(tmp_path)}})
    assert load_corpus(settings.data).languages is None
    assert resolve(settings, load_corpus(settings.data)).data.source_language is None
    write_languages(tmp_path, "en", "pt-BR")
    corpus = load_corpus(settings.data)
    assert corpus.languages == read_languages(tmp_path) == ("en", "pt-BR")
    plan = resolve(settings, corpus)
    assert (plan.data.source_language, plan.data.target_language) == ("en", "pt-BR")
    assert plan.reasons["data.target_language"] == "corpus: its language"
    own = settle({"data": {"corpus": str(tmp_path), "source_language": "en-GB"}})
    plan = resolve(own, corpus)
    assert (plan.data.source_language, plan.data.target_language) == ("en-GB", "pt-BR")
    assert plan.reasons["data.source_language"] == "user"


@pytest.mark.parametrize(
    "content", ["", "[]", '{"source": "en"}', '{"source": "en", "target": 5}', '{"source": "en", "target": ""}']
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(UserError, match=f"{FILE} does not name two languages; write it as"):
        read_languages(tmp_path)


def test_dates_know_theirs() -> None:
    small = {"examples": 50, "dev_examples": 5, "test_examples": 5}
    assert load_corpus(DataSettings(corpus="dates", **small)).languages == ("en", "fr")
    assert load_corpus(DataSettings(corpus="dates", pair="pt_BR-iso", **small)).languages == ("pt-BR", "iso")


def test_a_language_is_a_code() -> None:
    with pytest.raises(UserError, match=r"data.source_language = 'en_US \(UTF-8\)'"):
        settle({"data": {"corpus": "copy", "source_language": "en_US (UTF-8)"}})
