"""Classification of the words of a question, in several languages.

``generic_words.txt`` has a line for each language and class:

- plain: words that any question may contain, and English stop words.
- request: words that ask for an overview of the whole text, such as "summarize" or "main".
- form: kinds of texts, such as "meeting" or "story", and those who speak in them.
- topic: what every text has, such as a plot or problems; a text may also be about them.
- detail: words that ask for a fact, such as "who" or "how many".
- period: words that set a time before, after or between others, or that compare.
- verb: forms of "be", "have", "can" and the like, which most complete questions contain.
- refer: words for something that was mentioned before, such as "it".
- join: words that continue a conversation at the start of a question, such as "and".
- new: words that begin a new subject.

An asterisk stands for any ending, and ``_`` for a space. Chinese and Japanese have no spaces, so
their questions are split from left to right, the longest word first.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

from raptor_core.text.vocabulary import STOPWORDS
from raptor_core.text.words import fold, is_unspaced, words

UNSPACED = ("Chinese", "Japanese")
"""Languages without spaces between words."""


@dataclass(slots=True)
class Wording:
    """The words of a question by their class in a language; ``names`` have no class."""

    plain: list[str] = field(default_factory=list)
    request: list[str] = field(default_factory=list)
    form: list[str] = field(default_factory=list)
    topic: list[str] = field(default_factory=list)
    detail: list[str] = field(default_factory=list)
    period: list[str] = field(default_factory=list)
    verb: list[str] = field(default_factory=list)
    refer: list[str] = field(default_factory=list)
    join: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def is_generic(self) -> bool:
        """Whether a word asks for an overview of a text, and none for a fact."""
        is_about_a_text = bool(self.form) and not self.names
        return bool(self.request or self.topic or is_about_a_text) and not self.detail


@dataclass(frozen=True, eq=False)
class GenericWords:
    """The generic words of a language, and beginnings of words, with their classes."""

    is_unspaced: bool
    words: dict[str, str] = field(default_factory=dict)
    beginnings: dict[str, str] = field(default_factory=dict)

    def classify(self, words: Sequence[str]) -> list[tuple[str, str]]:
        """Return the words of a question with their classes, followed by phrases of two words."""
        pieces = [piece for word in words for piece in self._split_unspaced(word)]
        phrases = [phrase for phrase in map(" ".join, pairwise(words)) if phrase in self.words]
        return [(piece, _word_class(piece, self)) for piece in (*pieces, *phrases)]

    def _split_unspaced(self, word: str) -> list[str]:
        """Split a text without spaces into generic words and what is between them."""
        return list(filter(None, self._words_pattern.split(word))) if self.is_unspaced else [word]

    @cached_property
    def _words_pattern(self) -> re.Pattern[str]:
        words = sorted(map(re.escape, self.words), key=len, reverse=True)
        return re.compile(f"({'|'.join(words)})")


@lru_cache(maxsize=1 << 14)
def _word_class(word: str, language: GenericWords) -> str:
    if word in language.words:
        return language.words[word]
    beginnings = (word[:end] for end in range(len(word), 1, -1))
    return next((language.beginnings[b] for b in beginnings if b in language.beginnings), "names")


@cache
def read_languages() -> tuple[GenericWords, ...]:
    """Return the languages of ``generic_words.txt``."""
    result: dict[str, GenericWords] = {}
    text = Path(__file__).with_name("generic_words.txt").read_text(encoding="utf-8")
    for line in filter(None, text.splitlines()):
        head, _, words = line.partition(":")
        name, kind = head.split()
        language = result.setdefault(name, GenericWords(name in UNSPACED))
        for word in words.casefold().split():
            target = language.beginnings if word.endswith("*") else language.words
            target[word.rstrip("*").replace("_", " ")] = kind
    english = result["English"].words
    english.update(dict.fromkeys(STOPWORDS - english.keys(), "plain"))
    return tuple(result.values())


def read_wording(question: str) -> Wording:
    """Classify the words of a question, in the language in which it has the fewest names."""
    question_words = words(normalize("NFKC", question).casefold())
    unspaced = is_unspaced(question)
    readings = [
        language.classify(question_words)
        for language in read_languages()
        if language.is_unspaced == unspaced
    ]
    wording = Wording()
    for word, kind in min(readings, key=_count_name_chars):
        getattr(wording, kind).append(word)
    return wording


@cache
def _courtesy_patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Return for each language what matches a courtesy, and one with the words around it."""
    text = Path(__file__).with_name("courtesies.txt").read_text(encoding="utf-8")
    patterns = []
    for line in text.splitlines():
        language, _, phrases = line.partition(":")
        courtesies, around = map(str.split, phrases.split("|"))
        found, whole = map(_alternatives_pattern, (courtesies, [*courtesies, *around]))
        end = "" if language in UNSPACED else r"\b"
        patterns.append((re.compile(f"{end}{found}{end}"), re.compile(f"(?>{whole}{end} ?)++")))
    return tuple(patterns)


def _alternatives_pattern(phrases: Sequence[str]) -> str:
    folded = (re.escape(fold(phrase.replace("_", " "))) for phrase in phrases)
    return f"(?:{'|'.join(sorted(folded, key=len, reverse=True))})"


def is_courtesy(turn: str) -> bool:
    """Return whether a turn only thanks, greets or agrees, and asks for nothing.

    ``courtesies.txt`` has, for each language, courtesies and the words that may be around them.
    """
    folded = fold(turn)
    text, pairs = " ".join(words(folded)), () if "?" in folded else _courtesy_patterns()
    return any(whole.fullmatch(text) and found.search(text) for found, whole in pairs)


def _count_name_chars(classified: Sequence[tuple[str, str]]) -> int:
    return sum(len(word) for word, kind in classified if kind == "names")
