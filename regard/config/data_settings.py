"""The section [data]: where the pairs come from."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from regard.config.section import Section
from regard.config.values import LanguageCode, Positive, Range, Seed, Several


class DataSettings(Section):
    """Where the pairs come from: an embedded corpus, a folder made by `regard data fetch`, or files of your own."""

    corpus: str | None = None
    """an embedded corpus (see `regard data list`) or a folder with train.tsv, dev.tsv and test.tsv"""
    source: str | None = None
    """a text file with one source a line (.gz allowed)"""
    target: str | None = None
    """the parallel file with one target a line"""
    pairs: str | None = None
    """a file of pairs: .tsv (source TAB target), .jsonl ({"source": …, "target": …}), COCO or Flickr8k; .gz allowed"""
    dev_source: str | None = None
    """development sources; without them some pairs are held out"""
    dev_target: str | None = None
    """development targets"""
    dev_pairs: str | None = None
    """development pairs as .tsv or .jsonl"""
    test_source: str | None = None
    """test sources; without them some pairs are held out"""
    test_target: str | None = None
    """test targets"""
    test_pairs: str | None = None
    """test pairs as .tsv or .jsonl"""
    replay: str | None = None
    """pairs of what training.init_from knew, mixed into the training pairs against forgetting (.tsv or .jsonl)"""
    images: str | None = None
    """the folder of the images that the sources name (without it: the folder of the training file)"""
    source_language: LanguageCode | None = None
    """language of the sources, as en or pt-BR (without it: that of the corpus, if known)"""
    target_language: LanguageCode | None = None
    """language of the targets"""
    fuzzy: bool = False
    """translators' files: units that need review are taken, too"""
    examples: Annotated[int, Field(gt=0, le=10**8)] | None = None
    """how many training examples an embedded corpus generates"""
    dev_examples: Positive | None = None
    """how many pairs are held out for development"""
    test_examples: Positive | None = None
    """how many pairs are held out for the test"""
    pair: str = "en-fr"
    """dates: locale of the source, a hyphen, locale of the target (or iso)"""
    digits: Several = 3
    """addition: most digits of a summand"""
    lengths: Range = "1-20"
    """reverse, sort, copy: lengths of the inputs in train and dev"""
    test_lengths: Range | None = None
    """reverse, sort, copy: lengths of the test inputs, where they should differ"""
    max_tokens: Positive = 256
    """training pairs with a longer side are left out, counted and reported"""
    seed: Seed = 1
    """for generating an embedded corpus and for choosing the held-out pairs"""
