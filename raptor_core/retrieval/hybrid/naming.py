"""Documents that a question names: by a name that no other one has, or by the year of an edition.

Reports of several years, minutes and versions are alike, and a chunk hardly tells which of them it
is from. The question does: by a year, or by a person or place. The searches for names are part of
``gathering``, the weight of ``scoring``. Read ``hop`` next, where names lead to further documents.
"""

import re
from collections.abc import Sequence
from unicodedata import normalize

import numpy as np

from raptor_core.retrieval.general.wording import read_wording
from raptor_core.retrieval.hybrid.scoring import Scores
from raptor_core.store.base import Where
from raptor_core.store.outlines import Candidates, CandidateSearch, Rows
from raptor_core.text.words import words

N_NAMES = 4
"""Maximum number of names in a question that are searched for, the longest first."""

MAX_HOLDERS = 256
"""Maximum number of chunks with a name, all of one document; a word in more of them is no name."""

LEAST_HOLDERS = 2
"""Least number of chunks with a name; a word in one chunk may be there by chance."""

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


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
    """Return 1 for nodes of a named document, -1 for those of another edition, 0 for others.

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
    scores[np.isin(nodes["name"], _other_editions(question, nodes["name"].tolist()))] = -1.0
    return scores


def _other_editions(question: str, names: Sequence[str]) -> list[str]:
    """Return the documents whose name has another year than the question, where a like name has it.

    Names of editions differ in their digits alone.
    """
    sought = set(_YEAR.findall(normalize("NFKC", question)))
    if not sought:
        return []
    years = {name: set(_YEAR.findall(name)) for name in set(names)}
    series = {name: re.sub(r"\d+", "", name) for name in years}
    named = {series[name] for name in years if years[name] & sought}
    return [n for n in years if series[n] in named and years[n] and not years[n] & sought]
