"""Naming of summaries, by a chat model's title or by the terms that distinguish it in its layer.

These terms have the highest class-based TF-IDF (Grootendorst 2022, arXiv:2203.05794). A class
consists of all leaves below a summary. The weight of a word is its count in the class times
``log(1 + A / f)``, where ``A`` is the mean number of words in a class and ``f`` the count of the
word in all classes. Two words that mostly occur side by side form a term; numbers and times are not
terms. In a layer with a single node, titles and headings belong to the words of the leaves.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path

from raptor_core.identity import QUOTED
from raptor_core.nodes import Node, Tree
from raptor_core.text.vocabulary import STOPWORDS, to_singular
from raptor_core.text.words import find_words, is_split_into_pairs, split_into_letter_pairs
from raptor_core.tree.components import Components

N_TERMS = 8
NAME_TERMS = 3
MIN_CHARS = 3
MIN_TOGETHER = 4
"""Two words form a term if they occur side by side at least half as often as this."""
MAX_TITLE_CHARS = 80

_TIMES = """
    one two three four five six seven eight nine ten eleven twelve hundred thousand million half
    first second third fourth fifth last next once twice number total minute hour day night week
    month year time date today now january february march april may june july august september
    october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday
    wednesday thursday friday saturday sunday"""
_NUMBERS_AND_TIMES = frozenset(_TIMES.split())

_BETWEEN_WORDS = (" ", "-", "\n")
_MARKUP = "#*_\"'“”‘’ \t"
Key = tuple[str, ...]
"""The singular of a word, or of two words side by side."""


def add_names_and_key_terms(
    nodes: Sequence[Node],
    below: Sequence[Sequence[Node]],
    previous: Tree | None,
    components: Components,
) -> tuple[Node, ...]:
    """Return the summaries of a layer with names and key terms.

    ``below`` has the layers below, from the leaves up. Nodes of the published tree ``previous``
    keep their names. If summaries begin with titles, these are the names.
    """
    published = {node.id: node for node in previous.nodes() if node.name} if previous else {}
    terms: Sequence[Key] = [()] * len(nodes)
    if any(node.id not in published for node in nodes):
        terms = _find_key_terms(nodes, below)
    labelled = []
    for node, key_terms in zip(nodes, terms, strict=True):
        title = (
            _find_title(node.text)
            if components.has_titles and QUOTED.isdisjoint(node.quality)
            else ""
        )
        name = title or ", ".join(key_terms[:NAME_TERMS])
        label = published.get(node.id) or replace(node, name=name, key_terms=key_terms)
        labelled.append(replace(node, name=label.name, key_terms=label.key_terms))
    return tuple(labelled)


def _find_title(text: str) -> str:
    """Return the first line if it is short and text follows, or ""."""
    first, _, rest = text.strip().partition("\n")
    title = re.sub(r"^title\s*:", "", first.strip(_MARKUP), flags=re.IGNORECASE).strip(_MARKUP)
    return title if rest.strip() and len(title) <= MAX_TITLE_CHARS else ""


@cache
def _function_words() -> frozenset[str]:
    """Return the words of ``function_words.txt``, which has one language per line."""
    text = Path(__file__).with_name("function_words.txt").read_text(encoding="utf-8")
    return frozenset(w for line in text.splitlines() for w in line.partition(": ")[2].split())


class _TermCounter:
    """Counter of words and word pairs, which also records how they are spelled."""

    def __init__(self) -> None:
        self._spellings: dict[Key, Counter[str]] = {}

    def count(self, text: str) -> Counter[Key]:
        """Count the words and word pairs of a text."""
        counts: Counter[Key] = Counter()
        function_words = _function_words()
        last, start, end = "", 0, 0
        for match in find_words(text):
            run, word = match[0], match[0].casefold()
            if is_split_into_pairs(run):
                counts.update(
                    self._record((pair,), pair)
                    for pair in split_into_letter_pairs(run)
                    if pair != run
                )
                last = ""
            elif (
                len(word) < MIN_CHARS
                or word.isdigit()
                or word in STOPWORDS
                or word in function_words
                or to_singular(word) in _NUMBERS_AND_TIMES
            ):
                last = ""
            else:
                word = to_singular(word)
                counts[self._record((word,), run)] += 1
                if last and last != word and text[end : match.start()] in _BETWEEN_WORDS:
                    counts[self._record((last, word), f"{text[start:end]} {run}")] += 1
                last, start, end = word, match.start(), match.end()
        return counts

    def _record(self, key: Key, spelling: str) -> Key:
        self._spellings.setdefault(key, Counter())[spelling] += 1
        return key

    def spell(self, key: Key) -> str:
        """Return the most frequent spelling of a key."""
        forms = self._spellings[key]
        return min(forms, key=lambda form: (-forms[form], form))


def _find_key_terms(nodes: Sequence[Node], below: Sequence[Sequence[Node]]) -> list[Key]:
    """Return the key terms of each node, best first."""
    words = _TermCounter()
    text_of = _with_headings if len(nodes) == 1 else attrgetter("text")
    counts = {leaf.id: words.count(text_of(leaf)) for leaf in below[0]}
    leaves_of = {leaf.id: {leaf.id} for leaf in below[0]}
    for layer in (*below[1:], nodes):
        leaves_of = {node.id: set().union(*(leaves_of[c] for c in node.children)) for node in layer}
    classes: list[Counter[Key]] = []
    total: Counter[Key] = Counter()
    for node in nodes:
        classes.append(Counter())
        for leaf_id in leaves_of[node.id]:
            classes[-1].update(counts[leaf_id])
        total.update(classes[-1])
    average = sum(n for key, n in total.items() if len(key) == 1) / max(len(classes), 1)
    return [_best_terms(in_class, total, average, words) for in_class in classes]


def _with_headings(leaf: Node) -> str:
    title = str(leaf.metadata.get("title", ""))
    return ". ".join(dict.fromkeys((title, *leaf.section, leaf.text)))


def _best_terms(
    counts: Counter[Key], total: Mapping[Key, int], average: float, words: _TermCounter
) -> Key:
    """Return the terms with the highest weights; a pair replaces words that mostly occur in it."""
    singles = {key: n for key, n in counts.items() if len(key) == 1}
    weights = {key: n * math.log(1 + average / total[key]) for key, n in singles.items()}
    ranked = sorted(weights, key=lambda key: (-weights[key], key))[: 3 * N_TERMS]
    pairs: dict[str, Key] = {}
    for pair in sorted(counts.keys() - singles.keys(), key=lambda key: (counts[key], key)):
        pairs |= dict.fromkeys(pair, pair)  # the most frequent pair comes last
    terms: list[str] = []
    used: set[str] = set()
    for key in ranked:
        pair = pairs.get(key[0], key)
        term = pair if 2 * counts[pair] >= max(counts[key], MIN_TOGETHER) else key
        if len(terms) < N_TERMS and used.isdisjoint(key):
            used.update(term)
            terms.append(words.spell(term))
    return tuple(terms)
