"""Documents that a question names, by a name that only they contain or by the year of an edition.

Reports of several years, minutes and versions are similar, and a chunk hardly shows which of them
it is from. But a question may show it, by a year, a person or a place. ``gathering`` searches for
names, ``scoring`` weights them. Read ``hop`` next, where names lead to further documents.
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
"""Maximum number of names in a question to search for, the longest first."""

MAX_NAME_CHUNKS = 256
"""Maximum number of chunks, all of one document, that contain a name."""

MIN_NAME_CHUNKS = 2
"""Minimum number of chunks that contain a name; in a single chunk it may be by chance."""

OTHER_EDITION = -1.0
"""Score of other editions if a question asks for the edition of a year."""

OTHER_YEAR = -1 / 3
"""Score of other editions if a question contains a year, which may be that of an event."""

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FISCAL = re.compile(
    r"fy\d+$|fiscal|financial|(geschäfts|haushalts|wirtschafts)jahr|exercice|ejercicio|eserciz"
    r"|exercício|年度|财年"
)


def question_name_searches(question: str, where: Where) -> list[CandidateSearch]:
    """Return for each name in a question a search for the chunks that contain it."""
    leaves = where.narrow(layers=(0,))
    return [
        CandidateSearch(n, MAX_NAME_CHUNKS, leaves, only_rare=True) for n in _find_names(question)
    ]


def _find_names(question: str) -> list[str]:
    """Return the words with a capital or a digit, except for generic words."""
    all_words = words(normalize("NFKC", question))
    candidates = {w.casefold() for w in all_words if w != w.lower() or any(map(str.isdigit, w))}
    names = [name for name in dict.fromkeys(read_wording(question).names) if name in candidates]
    return sorted(names, key=len, reverse=True)[:N_NAMES]


def score_named(question: str, name_hits: Sequence[Candidates], nodes: Rows) -> Scores:
    """Return 1 for nodes of a named document, a negative score for other editions, else 0.

    Args:
        name_hits: results of ``question_name_searches``.
        nodes: the nodes, of dtype ``NODE``.
    """
    by_name = [candidates.outlines.nodes["document"] for candidates in name_hits]
    named = [
        documents[0]
        for documents in by_name
        if len(documents) >= MIN_NAME_CHUNKS and len(np.unique(documents)) == 1
    ]
    scores = np.isin(nodes["document"], named).astype(np.float64)
    editions = _score_other_editions(question, nodes["name"].tolist())
    for name, score in editions.items():
        scores[nodes["name"] == name] = score
    return scores


def _score_other_editions(question: str, names: Sequence[str]) -> dict[str, float]:
    """Return the negative scores of documents of the same series but of another year.

    Names of editions differ only in their digits, which contain the year. A question with several
    years means all between them. If it compares, or asks about the time after or before a year, it
    means every edition, and the result is empty.
    """
    question_words = words(normalize("NFKC", question).casefold())
    sought = [int(year) for year in _YEAR.findall(" ".join(question_words))]
    if not sought or _names_a_period(question, question_words):
        return {}
    scores: dict[str, float] = {}
    for series, years in _years_by_series(names).items():
        inside = {name for name, year in years.items() if min(sought) <= year <= max(sought)}
        score = OTHER_EDITION if _asks_for_edition(question_words, series) else OTHER_YEAR
        scores |= dict.fromkeys(years.keys() - inside, score) if inside else {}
    return scores


def _years_by_series(names: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the years of editions by name, grouped by the name without digits."""
    series: dict[str, dict[str, int]] = {}
    for name in set(names):
        if year := _YEAR.search(name):
            series.setdefault(re.sub(r"\d+", "", name), {})[name] = int(year[0])
    return series


def _words_near_years(question_words: Sequence[str], before: int, after: int) -> Iterator[str]:
    """Yield each year and the words near it, at most ``before`` and ``after`` words away."""
    for at, word in enumerate(question_words):
        if _YEAR.search(word):
            yield from question_words[max(at - before, 0) : at + after + 1]


def _names_a_period(question: str, question_words: Sequence[str]) -> bool:
    """Return whether there is a word for a period near a year, such as "after" or "compared"."""
    periods = read_wording(question).period
    near = set(_words_near_years(question_words, 4, 3))
    return any(word in near or is_unspaced(word) for word in periods)


def _asks_for_edition(question_words: Sequence[str], series: str) -> bool:
    """Return whether a question asks for an edition, and does not only contain its year.

    There must be a word for a fiscal year, or a word of the edition's name, near the year.
    """
    name = set(words(series.rpartition(".")[0].casefold() or series.casefold()))
    return any(
        word in name or _FISCAL.match(word) for word in _words_near_years(question_words, 3, 3)
    )
