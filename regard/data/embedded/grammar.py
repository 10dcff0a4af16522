"""A small grammar of English with Spanish or Turkish: two words become one, and words change places. The words that
belong together are known.

    we are tired         →  estamos cansados             we, are → estamos
    the black cats …     →  los gatos negros …           black ↔ negros
    cats chase mice      →  kediler fareleri kovalar     chase ↔ kovalar, last
    we chase mice        →  fareleri kovalarız           we, chase → kovalarız
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from regard.config import DataSettings, TokenizerSettings
from regard.data.embedded.draw import counts
from regard.data.embedded.stories import Span
from regard.data.embedded.world import pick
from regard.data.examples import Corpus, Example

ABOUT = {
    "grammar-spanish": "translation en-es: we are → estamos, the black cats → los gatos negros; truly aligned",
    "grammar-turkish": "translation en-tr: cats chase mice → kediler fareleri kovalar; truly aligned",
}
LANGUAGES = {"grammar-spanish": "es", "grammar-turkish": "tr"}
PRONOUNS = ("I", "she", "he", "we", "you", "they")
BE = {"I": "am", "she": "is", "he": "is"}
PRONOUN_SUBJECTS, PREDICATES, WITH_ADJECTIVE = 0.4, 0.2, 0.5

# Forms in the order I, she or he, we, you (several), they.
PERSONS = {"I": 0, "she": 1, "he": 1, "we": 2, "you": 3, "they": 4}
TURKISH_VERBS = {
    "chase": "kovalarım kovalar kovalarız kovalarsınız kovalarlar",
    "see": "görürüm görür görürüz görürsünüz görürler",
    "love": "severim sever severiz seversiniz severler",
    "find": "bulurum bulur buluruz bulursunuz bulurlar",
    "want": "isterim ister isteriz istersiniz isterler",
    "buy": "alırım alır alırız alırsınız alırlar",
    "await": "beklerim bekler bekleriz beklersiniz beklerler",
    "hear": "duyarım duyar duyarız duyarsınız duyarlar",
}
TURKISH_NOUNS = {  # plural: nominative, accusative
    "cats": "kediler kedileri",
    "mice": "fareler fareleri",
    "dogs": "köpekler köpekleri",
    "birds": "kuşlar kuşları",
    "children": "çocuklar çocukları",
    "horses": "atlar atları",
    "women": "kadınlar kadınları",
    "men": "adamlar adamları",
    "girls": "kızlar kızları",
    "teachers": "öğretmenler öğretmenleri",
    "friends": "arkadaşlar arkadaşları",
    "fish": "balıklar balıkları",
}
TURKISH_ADJECTIVES = {
    "black": "siyah",
    "white": "beyaz",
    "small": "küçük",
    "big": "büyük",
    "young": "genç",
    "good": "iyi",
}
TURKISH_PREDICATES = {  # the last form is that of a noun
    "tired": "yorgunum yorgun yorgunuz yorgunsunuz yorgunlar yorgun",
    "happy": "mutluyum mutlu mutluyuz mutlusunuz mutlular mutlu",
    "hungry": "açım aç açız açsınız açlar aç",
    "here": "buradayım burada buradayız buradasınız buradalar burada",
}
SPANISH_VERBS = {
    "see": "veo ve vemos veis ven",
    "find": "encuentro encuentra encontramos encontráis encuentran",
    "want": "quiero quiere queremos queréis quieren",
    "buy": "compro compra compramos compráis compran",
    "wash": "lavo lava lavamos laváis lavan",
    "draw": "dibujo dibuja dibujamos dibujáis dibujan",
    "paint": "pinto pinta pintamos pintáis pintan",
    "sell": "vendo vende vendemos vendéis venden",
}
SPANISH_SUBJECTS = {
    "cats": "gatos",
    "dogs": "perros",
    "children": "niños",
    "girls": "niñas",
    "women": "mujeres",
    "men": "hombres",
}
SPANISH_OBJECTS = {
    "books": "libros",
    "apples": "manzanas",
    "houses": "casas",
    "flowers": "flores",
    "cars": "coches",
    "doors": "puertas",
    "letters": "cartas",
    "hats": "sombreros",
    "lamps": "lámparas",
    "trees": "árboles",
}
FEMININE = {"niñas", "mujeres", "manzanas", "casas", "flores", "puertas", "cartas", "lámparas"}
SPANISH_ADJECTIVES = {"black": "negr", "white": "blanc", "small": "pequeñ", "red": "roj", "new": "nuev", "old": "viej"}
SPANISH_PREDICATES = {"tired": "cansad", "happy": "content", "sick": "enferm"}
SPANISH_BE = "estoy está estamos estáis están"
IRREGULAR_S = {"wash": "washes"}


@dataclass(frozen=True)
class AlignedSentence:
    """Words, and for each target word the indices of the source words that it says."""

    source: tuple[str, ...]
    target: tuple[tuple[str, tuple[int, ...]], ...]

    def example(self) -> Example:
        return Example(" ".join(self.source), " ".join(word for word, _ in self.target))

    @property
    def aligned(self) -> tuple[tuple[Span, Span], ...]:
        """Pairs of words that belong together, as characters."""
        sources, targets = _spans(self.source), _spans([word for word, _ in self.target])
        return tuple(
            (sources[index], target)
            for target, (_, indices) in zip(targets, self.target, strict=True)
            for index in indices
        )


def make(config: DataSettings, name: str) -> Corpus:
    rows = {split: [one.example() for one in sentences] for split, sentences in grammar_sentences(config, name).items()}
    return Corpus(
        name=name,
        **rows,
        images=None,
        languages=("en", LANGUAGES[name]),
        skipped=[],
        notes=("sentences of 3 to 8 words; no sentence of dev or test is in train",),
        task="translation",
        tokenizer=TokenizerSettings(kind="word", shared=False),
        model="lstm-additive",
    )


def grammar_sentences(config: DataSettings, name: str) -> dict[str, list[AlignedSentence]]:
    """Different ones, split by split."""
    wanted = counts(config, 6000, 500, available=20_000, remedy="ask for fewer")
    generator = random.Random(f"{name} {config.seed}")
    compose = _turkish if name == "grammar-turkish" else _spanish
    different: dict[tuple[str, ...], AlignedSentence] = {}
    while len(different) < wanted.total:
        sentence = compose(generator)
        different.setdefault(sentence.source, sentence)
    drawn = list(different.values())
    held = wanted.test + wanted.dev
    return {"test": drawn[: wanted.test], "dev": drawn[wanted.test : held], "train": drawn[held:]}


def example(name: str) -> Example:
    if name == "grammar-turkish":
        return Example("cats chase mice", "kediler fareleri kovalar")
    return Example("we are tired", "estamos cansados")


def _turkish(generator: random.Random) -> AlignedSentence:
    """Subject, object, verb; a pronoun is the ending of the verb."""
    source: list[str] = []
    subject: list[tuple[str, tuple[int, ...]]] = []
    pronoun = pick(generator, PRONOUNS) if generator.random() < PRONOUN_SUBJECTS else None
    if pronoun is not None:
        source.append(pronoun)
    else:
        subject = _turkish_phrase(generator, source, 0)
    person = 1 if pronoun is None else PERSONS[pronoun]
    if generator.random() < PREDICATES:
        predicate = pick(generator, list(TURKISH_PREDICATES))
        form = TURKISH_PREDICATES[predicate].split()[5 if pronoun is None else person]
        said = (0, 1, 2) if pronoun is not None else (len(source), len(source) + 1)
        source += [BE.get(pronoun or "they", "are"), predicate]
        return AlignedSentence(tuple(source), (*subject, (form, said)))
    verb = pick(generator, list(TURKISH_VERBS))
    said = (0, 1) if pronoun is not None else (len(source),)
    source.append(f"{verb}s" if pronoun in ("she", "he") else verb)
    target = [*subject, *_turkish_phrase(generator, source, 1)]
    return AlignedSentence(tuple(source), (*target, (TURKISH_VERBS[verb].split()[person], said)))


def _turkish_phrase(generator: random.Random, source: list[str], case: int) -> list[tuple[str, tuple[int, ...]]]:
    """Some nouns, appended to the source, and their translation; `case`: 0 nominative, 1 accusative."""
    target: list[tuple[str, tuple[int, ...]]] = []
    if generator.random() < WITH_ADJECTIVE:
        adjective = pick(generator, list(TURKISH_ADJECTIVES))
        target.append((TURKISH_ADJECTIVES[adjective], (len(source),)))
        source.append(adjective)
    noun = pick(generator, list(TURKISH_NOUNS))
    target.append((TURKISH_NOUNS[noun].split()[case], (len(source),)))
    source.append(noun)
    return target


def _spanish(generator: random.Random) -> AlignedSentence:
    """Subject, verb, object; a pronoun is the ending of the verb, and adjectives follow their noun."""
    source: list[str] = []
    target: list[tuple[str, tuple[int, ...]]] = []
    pronoun = pick(generator, PRONOUNS) if generator.random() < PRONOUN_SUBJECTS else None
    feminine = pronoun == "she"
    if pronoun is not None:
        source.append(pronoun)
    else:
        target += _spanish_phrase(generator, source, SPANISH_SUBJECTS)
        feminine = target[1][0] in FEMININE
    person = 4 if pronoun is None else PERSONS[pronoun]
    said = (0, 1) if pronoun is not None else (len(source),)
    if generator.random() < PREDICATES:
        predicate = pick(generator, list(SPANISH_PREDICATES))
        source += [BE.get(pronoun or "they", "are"), predicate]
        ending = ("a" if feminine else "o") + ("s" if person >= 2 else "")
        be, quality = SPANISH_BE.split()[person], SPANISH_PREDICATES[predicate] + ending
        return AlignedSentence(tuple(source), (*target, (be, said), (quality, (len(source) - 1,))))
    verb = pick(generator, list(SPANISH_VERBS))
    source.append(IRREGULAR_S.get(verb, f"{verb}s") if pronoun in ("she", "he") else verb)
    target.append((SPANISH_VERBS[verb].split()[person], said))
    target += _spanish_phrase(generator, source, SPANISH_OBJECTS)
    return AlignedSentence(tuple(source), tuple(target))


def _spanish_phrase(
    generator: random.Random, source: list[str], nouns: dict[str, str]
) -> list[tuple[str, tuple[int, ...]]]:
    english = pick(generator, list(nouns))
    noun = nouns[english]
    ending = "as" if noun in FEMININE else "os"
    article = ("las" if noun in FEMININE else "los", (len(source),))
    source.append("the")
    if generator.random() >= WITH_ADJECTIVE:
        source.append(english)
        return [article, (noun, (len(source) - 1,))]
    adjective = pick(generator, list(SPANISH_ADJECTIVES))
    source += [adjective, english]
    last = len(source) - 1
    return [article, (noun, (last,)), (SPANISH_ADJECTIVES[adjective] + ending, (last - 1,))]


def _spans(words: list[str] | tuple[str, ...]) -> list[Span]:
    """Of words that are joined by spaces."""
    spans, start = [], 0
    for word in words:
        spans.append(Span(start, start + len(word)))
        start += len(word) + 1
    return spans
