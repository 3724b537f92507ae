"""Detection of content words, names and codes in a text, and of the terms that a sentence needs.

All terms except codes are folded, so that equal terms compare equal. Numbers and dates are in
``numbers``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from raptor_core.audit.numbers import (
    blank_out_dates,
    find_dates,
    find_implied_values,
    find_numbers,
    is_grouped,
    month_numbers,
    number_word_values,
    possible_values,
)
from raptor_core.text.sentence_ends import ends_sentence, is_abbreviation
from raptor_core.text.vocabulary import STOPWORDS, stem
from raptor_core.text.words import find_words, fold, is_split_into_pairs, split_into_letter_pairs
from raptor_core.tokens.embedder import bundled_counter
from raptor_formats.text import UNSPACED

_DIGIT = re.compile(r"\d")
_OTHER = rf"{UNSPACED}\u1100-\u11ff\uac00-\ud7ff"
_W, _LETTER = rf"[^\W{_OTHER}]", rf"[^\W\d_{_OTHER}]"
_CODE = re.compile(
    r"(?:https?://|\bwww\.)[^\s<>\"'`)\]}]*[^\s<>\"'`)\]}.,;:!?]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<!{_W})(?<!\.)v?\d+(?:\.\d+){{2,}}(?!{_W})"
    rf"|(?<!{_W})[A-Z][A-Za-z]*-\d{_W}*(?:-{_W}+)*"
    rf"|(?<!{_W}){_W}*{_LETTER}\d{_W}*"
    rf"|(?<!{_W})(?:(?!_){_W})+(?:_(?:(?!_){_W})+)+"
)
"""Addresses, versions and identifiers, such as E-1047 or max_tokens."""
# After these, a capital begins a sentence, quotation or list item, so it does not show a name.
_OPENING = re.compile(r"(?:^|[.!?:;…\n\"“”‘«»(\[•*#>|/—–-])[\s\"“‘'(\[*_#]*$")
_OPENING_REACH = 6
_MAX_HEADING = 0.6
_MIN_ACRONYM, _SHORT_ACRONYM = 2, 3
_INITIALS = re.compile(r"(?<![^\W_])(?:[^\W\d_][._] ?){2,}(?:[^\W\d_](?![^\W_]))?")
"""Initials with dots or underscores, such as "U.S." and "T_V_"."""
_GERMAN_WORDS = """der die das und den dem des ein eine einer nicht zu auf für im sich von vom
mit ist"""
_GERMAN = frozenset(map(fold, _GERMAN_WORDS.split()))
_MIN_GERMAN = 0.1
"""Minimum share of German function words in a German text, in which all nouns have capitals."""

_ROOT_ENDINGS = (
    *("ians", "ian", "ans", "an", "ish", "ese", "ic", "ia", "ain", "a", "i", "y", "land"),
    *("ers", "er", "ite", "men", "man"),
)
"""Endings of names of countries, peoples and languages, so that "Germany" supports "German"."""
_MIN_ROOT = 4
_ORDINARY_ENDING = re.compile(
    r"(?:ly|ing|ed|ment|ness|[st]ion|ity|ism|less|ful|ous|ist|ward|[ai]ble|i[sz]e)s?$"
)
_MAX_INFLECTION = 3
_MIN_FUNCTION = 0.2
"""Minimum share of English function words in English; in other languages names are inflected."""


class Word(NamedTuple):
    """A word, its folded stem, whether it is a function word, and its first character."""

    text: str
    stem: str
    is_function: bool
    start: int


@dataclass(frozen=True, slots=True)
class SupportedTerms:
    """The terms that a text can support.

    Attributes:
        forms: stems of words, pairs of characters of unspaced scripts, "#" with each value of a
            number, "@" with each month, "&" with each root of a name, and "=" with each code.
        initials: initials of all words, and of content words, as written, for acronyms.
        english_share: share of English function words among all words.
        german_share: share of German function words among all words.
    """

    forms: frozenset[str]
    initials: str = ""
    english_share: float = 1.0
    german_share: float = 0.0

    @property
    def may_inflect_names(self) -> bool:
        """Whether names in the text's language may have endings."""
        return self.english_share < _MIN_FUNCTION

    def supports(self, forms: frozenset[str]) -> bool:
        """Return whether the text contains any of these forms; see ``word_forms``."""
        if not forms.isdisjoint(self.forms):
            return True
        return any(form[0] == "~" and self._has_initials(form[1:]) for form in forms)

    def _has_initials(self, acronym: str) -> bool:
        """Return whether consecutive words have these initials; a short acronym needs capitals."""
        if acronym in self.initials:
            return True
        is_long = len(acronym) > _SHORT_ACRONYM
        return is_long and acronym.casefold() in self.initials.casefold()


@lru_cache(maxsize=1024)  # because a node may have several parents
def find_supported_terms(text: str) -> SupportedTerms:
    """Return everything that ``text`` can support."""
    all_words = find_spaced_words(text)
    content = content_words(all_words)
    forms = {word.stem for word in all_words}
    forms.update(f"#{value}" for number in find_numbers(text) for value in number.values)
    forms.update(f"#{value}" for value in find_implied_values(text))
    for date in find_dates(text):
        forms.update(*date.term_forms)
    forms.update(
        f"@{month_numbers()[w]}" for word in all_words if (w := fold(word.text)) in month_numbers()
    )
    forms.update(find_letter_pairs(text), (f"={code}" for code in find_identifiers(text)))
    initialisms = (fold(re.sub(r"\W|_", "", match[0])) for match in _INITIALS.finditer(text))
    forms.update(map(stem, initialisms))
    n_words = max(1, len(all_words))
    english = sum(word.is_function for word in all_words) / n_words
    german = sum(fold(word.text) in _GERMAN for word in all_words) / n_words
    inflects = english < _MIN_FUNCTION
    forms.update(f"&{root}" for word in content for root in _name_roots(word, inflects))
    initials = " ".join("".join(word.text[0] for word in group) for group in (all_words, content))
    return SupportedTerms(frozenset(forms), initials, english, german)


def merge_supported_terms(parts: Sequence[SupportedTerms]) -> SupportedTerms:
    """Return the terms that several texts together can support, with the means of their shares."""
    n_parts = max(1, len(parts))
    english = sum(part.english_share for part in parts) / n_parts
    german = sum(part.german_share for part in parts) / n_parts
    forms: frozenset[str] = frozenset().union(*(part.forms for part in parts))
    return SupportedTerms(forms, " ".join(part.initials for part in parts), english, german)


def word_forms(word: Word) -> frozenset[str]:
    """Return the forms of which a source must contain one to support ``word``."""
    forms = {word.stem}
    folded = fold(word.text)
    forms.update(f"#{value}" for value in number_word_values().get(folded, ()))
    forms.update({f"@{month_numbers()[folded]}"} if folded in month_numbers() else ())
    if len(word.text) >= _MIN_ACRONYM and word.text.isupper():
        forms.add(f"~{word.text}")
    return frozenset(forms)


def name_forms(word: Word, inflects: bool) -> frozenset[str]:
    """Return the forms of which a source must contain one to support a name."""
    return word_forms(word) | {f"&{root}" for root in _name_roots(word, inflects)}


def _name_roots(word: Word, inflects: bool) -> Iterator[str]:
    """Yield the possible roots of a name, which are its stem without endings."""
    stem = word.stem
    if inflects:
        yield from (stem[:n] for n in range(max(_MIN_ROOT, len(stem) - _MAX_INFLECTION), len(stem)))
    elif word.text[0].isupper():
        ends = (end for end in _ROOT_ENDINGS if stem.endswith(end))
        yield from (root for end in ends if len(root := stem[: -len(end)]) >= _MIN_ROOT)
    yield stem


def find_identifiers(text: str) -> list[str]:
    """Return addresses, versions and identifiers, in order."""
    return _CODE.findall(text)


def find_spaced_words(text: str) -> list[Word]:
    """Return the words of spaced scripts without digits, in order."""
    matches = (
        m for m in find_words(text) if not is_split_into_pairs(m[0]) and not _DIGIT.search(m[0])
    )
    folded = ((m[0], *_stem_of_word(m[0]), m.start()) for m in matches)
    return [Word(*parts) for parts in folded if parts[1]]  # because a lone accent has no stem


def content_words(all_words: list[Word]) -> list[Word]:
    """Return the words that carry the topic of a text."""
    return [word for word in all_words if not word.is_function and len(word.stem) > 1]


def find_letter_pairs(text: str) -> list[str]:
    """Return the pairs of letters of scripts without spaces, in order."""
    return [
        pair
        for m in find_words(text)
        if is_split_into_pairs(m[0])
        for pair in split_into_letter_pairs(m[0])
    ]


def find_proper_names(text: str, all_words: Sequence[Word], sources: SupportedTerms) -> list[Word]:
    """Return the words that have a capital although their position does not require one.

    A heading has no names. In English, a rare word at the beginning of a sentence is a name, too.
    In German, where all nouns have capitals, only the second of two consecutive nouns is a name.
    """
    cased = [w for w in all_words if len(w.text) > 3 and w.text.upper() != w.text.lower()]
    n_capitals = sum(word.text[0].isupper() for word in cased)
    is_heading = len(all_words) > 2 and n_capitals > _MAX_HEADING * len(cased)
    if is_heading and not ends_sentence(text):
        return []
    if sources.german_share < _MIN_GERMAN:
        english = not sources.may_inflect_names
        return [w for w in all_words if _is_name(text, w) or (english and _is_unknown_word(w.text))]
    found = [word for word in all_words if _is_name(text, word)]
    ends = {w.start + len(w.text): w for w in all_words if w.text[0].isupper()}
    follows = ((word, ends.get(word.start - 1)) for word in found)
    return [word for word, before in follows if before and not before.is_function]


def _is_name(text: str, word: Word) -> bool:
    if len(word.text) < 2 or not word.text[0].isupper() or is_abbreviation(word.text):
        return False
    if any(c.isupper() for c in word.text[1:]):
        return True
    if word.is_function or fold(word.text) in number_word_values():
        return False
    return not _OPENING.search(text[max(0, word.start - _OPENING_REACH) : word.start])


@lru_cache(maxsize=65_536)
def _is_unknown_word(word: str) -> bool:
    """Return whether a capitalized word is not in the tokenizer's vocabulary, nor derived from it.

    A name such as "Alice", which is in the vocabulary, is not rare.
    """
    plain = word[0].isupper() and word[1:].islower() and word.isascii()
    if len(word) < _MIN_ROOT or not plain or _ORDINARY_ENDING.search(word):
        return False
    return len(list(bundled_counter().token_spans(word))) > 1


@lru_cache(maxsize=65_536)
def _stem_of_word(word: str) -> tuple[str, bool]:
    """Return a word's stem, without case and English endings, and whether it is a function word."""
    folded = fold(word)
    return (stem(folded) if folded.isascii() else folded), folded in STOPWORDS


_MARKER = re.compile(r"^\s*(?:\(?\d{1,3}[.):]|[-*•])\s+")


@dataclass(frozen=True, slots=True)
class RequiredTerm:
    """A word, number, name or code of a sentence, and the forms of which a source must contain one.

    ``may_be_count`` is True for a number that may count the things that a source lists.
    """

    text: str
    forms: frozenset[str]
    may_be_count: bool = False


@dataclass(frozen=True, slots=True)
class RequiredTerms:
    """The terms that the sources of a sentence must contain, in order.

    ``text`` is the sentence without a bullet or number of a list item. ``numbers`` includes codes;
    digits within a code are not a number.
    """

    text: str
    words: tuple[Word, ...]
    content_words: tuple[RequiredTerm, ...]
    numbers: tuple[RequiredTerm, ...]
    names: tuple[RequiredTerm, ...]

    @property
    def numbers_and_names(self) -> tuple[RequiredTerm, ...]:
        """Numbers and names, all of which must be supported."""
        return self.numbers + self.names


def find_required_terms(sentence: str, sources: SupportedTerms) -> RequiredTerms:
    """Return the terms that the sources of ``sentence`` must contain."""
    text = _MARKER.sub("", sentence)
    all_words = find_spaced_words(text)
    content = {
        word.stem: RequiredTerm(word.text, word_forms(word)) for word in content_words(all_words)
    }
    content |= {pair: RequiredTerm(pair, frozenset({pair})) for pair in find_letter_pairs(text)}
    all_names = find_proper_names(text, all_words, sources)
    return RequiredTerms(
        text=text,
        words=tuple(all_words),
        content_words=tuple(content.values()),
        numbers=tuple(_find_dates_and_numbers(text)),
        names=tuple(
            RequiredTerm(word.text, name_forms(word, sources.may_inflect_names))
            for word in all_names
        ),
    )


def _find_dates_and_numbers(text: str) -> Iterator[RequiredTerm]:
    """Yield the parts of a text's dates, its numbers except small ones in words, and its codes."""
    for date in find_dates(text):
        yield from (RequiredTerm(date.text, forms) for forms in date.term_forms)
    bare = blank_out_dates(text)
    for number in find_numbers(_CODE.sub(lambda match: " " * len(match[0]), bare)):
        if not (number.may_be_count and number.text[0].isalpha()):
            forms = frozenset(f"#{value}" for value in number.values)
            yield RequiredTerm(number.text, forms, number.may_be_count)
    for code in find_identifiers(bare):
        values = possible_values(code) if is_grouped(code) else ()  # 1.234.567 is not a version
        yield RequiredTerm(code, frozenset({f"={code}", *(f"#{value}" for value in values)}))


def find_missing_terms(items: Iterable[RequiredTerm], sources: SupportedTerms) -> list[str]:
    """Return the items, as written, that the sources do not support."""
    return [item.text for item in items if not sources.supports(item.forms)]
