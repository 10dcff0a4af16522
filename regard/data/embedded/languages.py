"""Which language are these names, or this date, in? From CLDR, in languages that share their scripts."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from functools import lru_cache

from babel import Locale
from babel.lists import format_list

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.dates import FIRST, LAST, source_formats, write
from regard.data.embedded.draw import Counts, counts
from regard.data.examples import Corpus, Example

ABOUT = "classification: the language of some names or a date, out of 17 (CLDR)"
EXAMPLE = Example("Allemagne, Norvège et Îles Salomon", "French")
# Latin, and Cyrillic for the last three: the script alone never decides.
LANGUAGES = ("en", "fr", "de", "es", "it", "pt", "nl", "sv", "fi", "pl", "cs", "ro", "hu", "tr", "ru", "uk", "bg")
LETTERS_AT_LEAST = 6
# Of ten texts three are dates and one is a single long name, which is hard to classify; the others list 2 to 4 names.
DATES, SINGLE = 0.3, 0.1
SINGLE_LETTERS = 12
DATE_FORMATS = ("full", "medium with weekday")

Pool = dict[str, dict[str, list[str]]]


def make(config: DataSettings) -> Corpus:
    """Names and days are split before texts are made of them: train has no name of dev or test, not even in a list."""
    wanted = counts(config, 20_000, 1000, available=1_000_000, remedy="ask for fewer")
    generator = random.Random(f"languages {config.seed}")
    pools, shared = _pools(generator, wanted)
    days = list(range((LAST - FIRST).days + 1))
    generator.shuffle(days)
    third = len(days) // 3
    splits: dict[str, list[Example]] = {}
    for index, (split, count) in enumerate((("test", wanted.test), ("dev", wanted.dev), ("train", wanted.train))):
        splits[split] = _texts(generator, pools[split], days[index * third : (index + 1) * third], count)
    classes = Counter(example.target for example in splits["train"])
    return Corpus(
        name="languages",
        **splits,
        images=None,
        languages=None,
        skipped=[],
        notes=(
            f"{len(LANGUAGES)} languages with {min(classes.values())} to {max(classes.values())} training texts each",
            f"{shared} names that are the same in several languages left out",
            *wanted.notes,
        ),
        task="classification",
        tokenizer=TokenizerSettings(kind="character"),
        model="lstm-classifier",
    )


def _pools(generator: random.Random, wanted: Counts) -> tuple[dict[str, Pool], int]:
    """Names by split, language and kind, and how many were left out because several languages share them."""
    all_names = {code: names(code) for code in LANGUAGES}
    owners = Counter(name for kinds in all_names.values() for name in set().union(*kinds.values()))
    share = min(0.25, 3 * max(wanted.dev, wanted.test) / wanted.total)
    pools: dict[str, Pool] = {"test": {}, "dev": {}, "train": {}}
    for code, kinds in all_names.items():
        for kind, members in kinds.items():
            own = [name for name in members if owners[name] == 1]
            generator.shuffle(own)
            held = max(4, int(len(own) * share))
            for split, part in (("test", own[:held]), ("dev", own[held : 2 * held]), ("train", own[2 * held :])):
                pools[split].setdefault(code, {})[kind] = part
    return pools, sum(count > 1 for count in owners.values())


def names(code: str) -> dict[str, list[str]]:
    """Territories, languages and currencies, in the language's own words; each name once."""
    locale = Locale.parse(code)
    tables = {"territory": locale.territories, "language": locale.languages, "currency": locale.currencies}
    seen: set[str] = set()
    kept: dict[str, list[str]] = {}
    for kind, table in tables.items():
        texts = sorted({str(text) for text in table.values()} - seen)
        seen.update(texts)
        kept[kind] = [text for text in texts if _letters(text) >= LETTERS_AT_LEAST and not _has_digit(text)]
    return kept


def _texts(generator: random.Random, pool: Pool, days: list[int], count: int) -> list[Example]:
    """`count` different texts, the languages in turn."""
    labels = {code: str(Locale("en").languages[code]) for code in LANGUAGES}
    texts: dict[str, str] = {}
    while len(texts) < count:
        code = LANGUAGES[len(texts) % len(LANGUAGES)]
        chance = generator.random()
        if chance < DATES:
            text = _date(code, FIRST + datetime.timedelta(generator.choice(days)), generator.choice(DATE_FORMATS))
        else:
            members = pool[code][generator.choice(sorted(pool[code]))]
            few = 1 if chance < DATES + SINGLE else generator.randint(2, 4)
            chosen = generator.sample(members, few)
            text = format_list(chosen, locale=_locale(code)) if few > 1 else chosen[0]
            if few == 1 and _letters(text) < SINGLE_LETTERS:
                text = None
        if text is not None:
            texts.setdefault(text, labels[code])
    examples = [Example(text, label) for text, label in texts.items()]
    generator.shuffle(examples)
    return examples


@lru_cache(maxsize=100_000)
def _date(code: str, day: datetime.date, name: str) -> str | None:
    """The date as the language writes it; None where another language writes the very same."""
    text = _written(code, day, name)
    twins = any(_written(other, day, style) == text for other in LANGUAGES if other != code for style in DATE_FORMATS)
    return None if twins or text is None else text


@lru_cache(maxsize=100_000)
def _written(code: str, day: datetime.date, name: str) -> str | None:
    pattern = _formats(code).get(name)
    return None if pattern is None else "".join(piece.text for piece in write(day, pattern, code))


_formats = lru_cache(maxsize=None)(source_formats)
_locale = lru_cache(maxsize=None)(Locale.parse)


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
