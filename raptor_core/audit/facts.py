"""Detection of foreign facts: numbers, dates, codes and names of a summary that are in no leaf.

With an embedder, sentences that resemble no sentence of the leaves are found, too. A number is not
foreign if it can be counted, added up or rounded from a leaf; whether it is right is for judges to
decide. Names are found only by their capitals. How terms are compared is in ``terms``.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import chain, combinations

from raptor_core.audit.base import sentence_texts
from raptor_core.audit.numbers import COUNTABLE, find_numbers, parse_decimal
from raptor_core.audit.terms import (
    RequiredTerm,
    find_missing_terms,
    find_required_terms,
    find_supported_terms,
    merge_supported_terms,
)
from raptor_core.chunking.sentences import find_sentence_spans
from raptor_core.models.summarizing.base import SeparatedAnswer
from raptor_core.text.sentence_ends import ends_sentence
from raptor_core.threads import one_blas_thread
from raptor_core.vectors import Vectors

VERSION = 1
"""Version of the rules; raise it if they would find facts in other sentences than before."""
Embed = Callable[[Sequence[str]], Vectors]
Span = tuple[int, int]
"""First character of a sentence, and the character after it."""
MIN_RESEMBLANCE = 0.6
"""Minimum cosine similarity (all-MiniLM-L6-v2) of sentences that resemble each other. A sentence of
a small model that resembles none of the leaves is usually wrong; see docs/research.md.
"""
MIN_QUOTED = 0.3
"""Minimum cosine similarity of a sentence of the leaves to the one that it replaces."""
QUOTED_CHARS = 30, 300
"""Minimum and maximum number of characters of a sentence that is quoted."""
_MAX_ADDED = 12
"""Maximum numbers of a leaf to add up; the sums of more would match almost any number."""
_ROUNDED = Decimal("0.05")
_ABOUT = re.compile(
    r"(?:about|around|nearly|almost|roughly|approximately|approx\.?|over|under|above|below|some|~|≈"
    r"|(?:more|less|fewer) than|at least|at most|up to|circa|ca\.|rund|etwa|fast|über|unter|environ"
    r"|plus de|moins de|unos|unas|casi|más de|menos de|circa|quasi|cerca de"
    r"|约|大约|近|超过|約)\W*$",
    re.IGNORECASE,
)
_ABOUT_CHARS = 20


class SourceFacts:
    """The leaves below a summary, with which its facts are compared."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._terms = merge_supported_terms([find_supported_terms(text) for text in texts])

    def foreign_facts_by_sentence(self, summary: str) -> dict[Span, tuple[str, ...]]:
        """Return the foreign facts of each sentence of a summary that contains some, in order."""
        spans = find_sentence_spans(summary)
        needs = [
            find_required_terms(summary[start:end].strip(), self._terms) for start, end in spans
        ]
        missing_names = [find_missing_terms(need.names, self._terms) for need in needs]
        foreign_names = frozenset().union(*missing_names)
        found: dict[Span, tuple[str, ...]] = {}
        for span, need, names in zip(spans, needs, missing_names, strict=True):
            numbers = (item for item in need.numbers if not self._terms.supports(item.forms))
            facts = [
                item.text
                for item in numbers
                if not (item.may_be_count or self._is_derived(item, need.text))
            ]
            # The first word of a sentence is a name if it is one in another sentence.
            facts += [*names, *(word.text for word in need.words if word.text in foreign_names)]
            if facts:
                found[span] = tuple(dict.fromkeys(facts))
        return found

    def _is_derived(self, item: RequiredTerm, sentence: str) -> bool:
        """Return whether a number is a sum, difference or rounding of numbers of a leaf."""
        values = {
            v
            for form in item.forms
            if form[0] == "#" and (v := parse_decimal(form[1:])) is not None
        }
        if not values:
            return False
        at = sentence.find(item.text)
        is_about = _ABOUT.search(sentence[max(0, at - _ABOUT_CHARS) : max(at, 0)]) is not None
        return any(
            value in self._derivable_values
            or any(
                _is_rounded_value(exact, value, is_about=is_about) for exact in self._number_values
            )
            for value in values
        )

    @cached_property
    def _number_values(self) -> frozenset[Decimal]:
        return frozenset().union(*map(leaf_number_values, self._texts))

    @cached_property
    def _derivable_values(self) -> frozenset[Decimal]:
        leaves = [self._number_values, *map(leaf_number_values, self._texts)]
        return frozenset(
            v for values in leaves for v in _sums_and_differences(values) if v > COUNTABLE
        )


@lru_cache(maxsize=1024)
def leaf_number_values(text: str) -> frozenset[Decimal]:
    """Return the values of the numbers of a leaf."""
    shown = {value for number in find_numbers(text) for value in number.values}
    return frozenset(value for v in shown if (value := parse_decimal(v)) is not None)


def _sums_and_differences(values: frozenset[Decimal]) -> Iterator[Decimal]:
    """Yield the sum of all values, and the sum and difference of each two of them."""
    if 1 < len(values) <= _MAX_ADDED:
        yield sum(values, Decimal())
        for a, b in combinations(values, 2):
            yield from (a + b, abs(a - b))


def _is_rounded_value(exact: Decimal, value: Decimal, *, is_about: bool) -> bool:
    """Return whether ``value`` is ``exact`` with fewer decimals or, if ``is_about``, near it."""
    if is_about:
        return abs(exact - value) <= _ROUNDED * abs(exact)
    exponent, finer = value.as_tuple().exponent, exact.as_tuple().exponent
    if not isinstance(exponent, int) or not isinstance(finer, int) or finer >= min(exponent, 0):
        return False
    return exact.quantize(value) == value


def separate_foreign_facts(
    summary: str, leaves: Sequence[str], embed: Embed | None = None
) -> SeparatedAnswer:
    """Return the foreign facts of a summary, and the summary without the sentences with them.

    With ``embed``, sentences that resemble no sentence of the leaves are removed, too, and each
    removed sentence is replaced by the leaves' most similar one, if any is near.
    """
    found = SourceFacts(leaves).foreign_facts_by_sentence(summary)
    removed = dict.fromkeys(found, "")
    if embed:
        removed |= _find_replacement_quotations(summary, leaves, embed, removed)
    kept, start = [], 0
    for (begin, end), quotation in sorted(removed.items()):
        kept.append(f"{summary[start:begin].rstrip(' ')} {quotation}".rstrip(" "))
        start = end
    rest = "".join([*kept, summary[start:]]).strip()
    facts = dict.fromkeys(chain.from_iterable(found.values()))
    return SeparatedAnswer(tuple(facts), rest, len(rest) / max(1, len(summary.strip())))


@one_blas_thread
def _find_replacement_quotations(
    summary: str, leaves: Sequence[str], embed: Embed, foreign: Collection[Span]
) -> dict[Span, str]:
    """Return the spans of sentences to replace, each with a quotation of the leaves, or "".

    They are the ``foreign`` sentences, and complete ones that resemble no sentence of the leaves.
    """
    spans = [
        (start, end)
        for start, end in find_sentence_spans(summary)
        if ends_sentence(summary[start:end])
    ]
    texts = (" ".join(text.split()) for leaf in leaves for text in sentence_texts(leaf))
    sources = list(dict.fromkeys(texts))
    vectors = embed([*(summary[start:end].strip() for start, end in spans), *sources])
    cosines = vectors[: len(spans)] @ vectors[len(spans) :].T
    quotable = {
        row
        for row, text in enumerate(sources)
        if QUOTED_CHARS[0] <= len(text) <= QUOTED_CHARS[1]
        and ends_sentence(text)
        and text not in summary
    }
    quotations: dict[Span, str] = {}
    for span, row in zip(spans, cosines, strict=True):
        if span in foreign or row.max(initial=-1.0) < MIN_RESEMBLANCE:
            near = max(quotable, key=row.__getitem__, default=None)
            is_near = near is not None and row[near] >= MIN_QUOTED
            quotations[span] = sources[near] if near is not None and is_near else ""
            quotable -= {near} if is_near else set()  # each is quoted once
    return quotations
