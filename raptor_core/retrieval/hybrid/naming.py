"""Documents that a question names: by a name that no other one has, or by the year of an edition.

Reports of several years, minutes and versions are alike, and a chunk hardly tells which of them it
is from. The question does: by a year, or by a person or place. The searches for names are part of
``gathering``, the weight of ``scoring``. Read ``hop`` next, where names lead to further documents.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from unicodedata import normalize

import numpy as np

from raptor_core.retrieval.general.wording import read_wording
from raptor_core.retrieval.hybrid.scoring import Scores
from raptor_core.store.base import Where
from raptor_core.store.outlines import Candidates, CandidateSearch, Rows
from raptor_core.text.words import is_unspaced, words

N_NAMES = 4
"""Maximum number of names in a question that are searched for, the longest first."""

MAX_HOLDERS = 256
"""Maximum number of chunks with a name, all of one document; a word in more of them is no name."""

LEAST_HOLDERS = 2
"""Least number of chunks with a name; a word in one chunk may be there by chance."""

OTHER_EDITION = -1.0
"""Score of other editions where a question asks for the edition of a year."""

OTHER_YEAR = -1 / 3
"""Score of other editions where a question has a year, which may be that of an event."""

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FISCAL = re.compile(
    r"fy\d+$|fiscal|financial|(geschäfts|haushalts|wirtschafts)jahr|exercice|ejercicio|eserciz"
    r"|exercício|年度|财年"
)


def name_searches(question: str, where: Where) -> list[CandidateSearch]:
    """Return a search for the chunks that hold each name in a question."""
    leaves = where.narrowed(layers=(0,))
    return [CandidateSearch(n, MAX_HOLDERS, leaves, only_rare=True) for n in _names(question)]


def _names(question: str) -> list[str]:
    """Return the words with a capital or a digit, without generic ones."""
    every = words(normalize("NFKC", question))
    marked = {w.casefold() for w in every if w != w.lower() or any(map(str.isdigit, w))}
    names = [name for name in dict.fromkeys(read_wording(question).names) if name in marked]
    return sorted(names, key=len, reverse=True)[:N_NAMES]


def score_named(question: str, holders: Sequence[Candidates], nodes: Rows) -> Scores:
    """Return 1 for nodes of a named document, less than 0 for those of another edition, else 0.

    Args:
        question: the question.
        holders: answers to ``name_searches``.
        nodes: the nodes, of dtype ``NODE``.
    """
    by_name = [candidates.outlines.nodes["document"] for candidates in holders]
    named = [
        documents[0]
        for documents in by_name
        if len(documents) >= LEAST_HOLDERS and len(np.unique(documents)) == 1
    ]
    scores = np.isin(nodes["document"], named).astype(np.float64)
    editions = _other_editions(question, nodes["name"].tolist())
    for name, score in editions.items():
        scores[nodes["name"] == name] = score
    return scores


def _other_editions(question: str, names: Sequence[str]) -> dict[str, float]:
    """Return the score of each document of another year than the question's, below 0.

    Names of editions differ in their digits alone, and one of them has the year. Of several years
    a question means all between them. Where it compares, or asks for the time after or before a
    year, it means every edition, so nothing is returned.
    """
    asked = words(normalize("NFKC", question).casefold())
    sought = [int(year) for year in _YEAR.findall(" ".join(asked))]
    if not sought or _sets_a_period(question, asked):
        return {}
    scores: dict[str, float] = {}
    for series, years in _series(names).items():
        inside = {name for name, year in years.items() if min(sought) <= year <= max(sought)}
        score = OTHER_EDITION if _asks_for(asked, series) else OTHER_YEAR
        scores |= dict.fromkeys(years.keys() - inside, score) if inside else {}
    return scores


def _series(names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the year of each edition by its name, by the name without digits."""
    series: dict[str, dict[str, int]] = {}
    for name in set(names):
        if year := _YEAR.search(name):
            series.setdefault(re.sub(r"\d+", "", name), {})[name] = int(year[0])
    return series


def _beside_years(asked: Sequence[str], before: int, after: int) -> Iterator[str]:
    """Yield the words up to ``before`` and ``after`` words from a year, and the year's own."""
    for at, word in enumerate(asked):
        if _YEAR.search(word):
            yield from asked[max(at - before, 0) : at + after + 1]


def _sets_a_period(question: str, asked: Sequence[str]) -> bool:
    """Return whether a word of a period stands beside a year, such as "after" or "compared"."""
    periods = read_wording(question).period
    beside = set(_beside_years(asked, 4, 3))
    return any(word in beside or is_unspaced(word) for word in periods)


def _asks_for(asked: Sequence[str], series: str) -> bool:
    """Return whether a question asks for the editions of a year, not only for that year.

    It does by a fiscal year, or by a word of their name beside the year.
    """
    name = set(words(series.rpartition(".")[0].casefold() or series.casefold()))
    return any(word in name or _FISCAL.match(word) for word in _beside_years(asked, 3, 3))
