"""The embedded default: a probability from similarity, coverage, exact terms and oppositions."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from raptor_core.audit.base import Audited, Judgement, SentenceFinding, sentence_texts
from raptor_core.audit.collage import folded, is_collage
from raptor_core.audit.terms import Needs, Terms, Word, lacking, needs_of, terms, union, words
from raptor_core.blas import one_blas_thread
from raptor_core.models.embedding.base import Embedder
from raptor_core.vectors import Vectors


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Stems of the opposites of a word, by its stem."""
    text = Path(__file__).with_name("opposites.txt").read_text(encoding="utf-8")
    by_stem: defaultdict[str, set[str]] = defaultdict(set)
    for pair in text.split(","):
        one, other = (word.stem for word in words(pair))
        by_stem[one].add(other)
        by_stem[other].add(one)
    return {stem: frozenset(others) for stem, others in by_stem.items()}


N_NEAREST = 5
_N_SIMILAR = 3
_FAR, _VERY_FAR = 0.6, 0.45
_ALIKE, _SAME = 0.55, 0.7
_UNCOVERED = 0.6
_MOST = 2.0
_SCOPE = 3
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|nobody|nothing|hardly|unable)\b|n['’]t\b",
    re.IGNORECASE,
)
_ABSOLUTES = frozenset(
    {
        *("all", "always", "certainly", "completely", "entirely", "every", "exclusively"),
        *("impossible", "must", "never", "no", "none", "only", "solely"),
    }
)


Doubts = Mapping[str, float]
"""Reasons to doubt a sentence, each 0 where there is none.

- far, very_far: how much the mean cosine of the nearest three passages is under 0.6, under 0.45; of
  fewer where there are under twelve.
- uncovered: how much the share of content words that a passage holds is under 0.6.
- numbers, names: how many stand in no passage; at most 2, as all counts.
- negations: how many negate what no passage negates. These and the following count the more, the
  more similar the nearest passage is: fully from a cosine of 0.7 on.
- opposites: words whose opposite, and not they, stands in the nearest passages.
- absolutes: words such as "always" that the nearest passages do not hold.
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence weighed against the passages.

    ``missing`` are its numbers and names, then its words, that no passage holds. ``nearest`` is the
    row of the most similar passage.
    """

    doubts: Doubts
    missing: tuple[str, ...]
    nearest: int


class Passages:
    """Sentences of a summary's children, with their vectors row for row."""

    def __init__(self, texts: Sequence[str], vectors: Vectors) -> None:
        self.texts = texts
        self._vectors = vectors
        self._terms = [terms(text) for text in texts]
        self._held = union(self._terms)
        pairs = zip(texts, self._terms, strict=True)
        self._negated = [held.forms for text, held in pairs if _NEGATION.search(text)]

    def weigh(self, sentence: str, vector: Vectors) -> Claim:
        """Doubts about a sentence; there is at least one passage. ``vector``: shape (n_dims,)."""
        needs = needs_of(sentence, self._held)
        similarity = self._vectors @ vector
        order = np.argsort(-similarity, kind="stable")[:N_NEAREST]
        near = union([self._terms[row] for row in order])
        n_similar = max(1, min(_N_SIMILAR, len(self.texts) // 4))
        closeness = float(similarity[order[:n_similar]].mean())
        same = float(np.clip((float(similarity[order[0]]) - _ALIKE) / (_SAME - _ALIKE), 0, 1))
        wanting = lacking(needs.content, self._held)
        no_number = lacking(needs.numbers, self._held)
        no_name = lacking(needs.names, self._held)
        covered = 1 - len(wanting) / len(needs.content) if needs.content else 1.0
        doubts = {
            "far": max(0.0, _FAR - closeness),
            "very_far": max(0.0, _VERY_FAR - closeness),
            "uncovered": max(0.0, _UNCOVERED - covered),
            "numbers": min(_MOST, len(no_number)),
            "names": min(_MOST, len(no_name)),
            "negations": same * min(_MOST, self._unmatched_negations(needs)),
            "opposites": same * min(_MOST, _n_opposites(needs.words, near)),
            "absolutes": same * min(_MOST, _n_absolutes(needs.words, near)),
        }
        missing = tuple(dict.fromkeys([*no_number, *no_name, *wanting]))
        return Claim(doubts, missing, int(order[0]))

    def _unmatched_negations(self, needs: Needs) -> int:
        """Negations whose next content words no negated passage holds, but for one of them."""
        n_unmatched = 0
        for match in _NEGATION.finditer(needs.text):
            scope = [w.stem for w in needs.words if w.start >= match.end() and not w.is_function]
            wanted = frozenset(scope[:_SCOPE])
            least = max(1, len(wanted) - 1)
            n_unmatched += not any(len(wanted & held) >= least for held in self._negated)
        return n_unmatched


def _n_opposites(said: Sequence[Word], near: Terms) -> int:
    known = opposites()
    stems = {word.stem for word in said} - near.forms
    return sum(not known.get(stem, frozenset()).isdisjoint(near.forms) for stem in stems)


def _n_absolutes(said: Sequence[Word], near: Terms) -> int:
    told = {word.stem for word in said if word.text.casefold() in _ABSOLUTES}
    return len(told - near.forms)


QUOTED_CHARS = 40
"""Letters in a row that a quotation shares with a child, or it is one of its sentences or lines."""

BIAS = 0.487
WEIGHTS: Mapping[str, float] = {
    "far": -1.992,
    "very_far": -4.796,
    "uncovered": -2.252,
    "numbers": -1.0,
    "names": -2.884,
    "negations": -0.5,
    "opposites": -1.371,
    "absolutes": -1.242,
}
THRESHOLD = 0.446
"""Log-odds and bound that ``benchmarks/calibrate_support.py`` prints; see docs/audits.md."""


class SupportJudge:
    """A sentence is unsupported when its doubts outweigh, or a number or a name has no source.

    The score is the probability that a sentence with these doubts is supported, at even odds
    beforehand, calibrated on labelled summaries with all-MiniLM-L6-v2; ``embedder`` should be
    that model. A sentence that is put together from the children's own words raises no doubt, and
    needs no model. It does not reason: a wrong combination of what the children hold passes.
    """

    name = "support"
    version = "1"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @one_blas_thread
    def judge(self, summaries: Sequence[Audited]) -> list[list[SentenceFinding]]:
        """See ``Judge.judge``."""
        split = []
        passages: dict[str, Sequence[str]] = {}
        wanted: set[str] = set()
        for item in summaries:
            children = [child.text for child in item.children]
            texts = sentence_texts(item.node.text)
            claims = [(text, is_collage(text, children, QUOTED_CHARS)) for text in texts]
            split.append(claims)
            doubtful = [text for text, quoted in claims if not quoted]
            if children and doubtful:
                passages |= {text: sentence_texts(text) for text in children}
                wanted.update(doubtful, *(passages[text] for text in children))
        distinct = sorted(wanted)
        vectors = dict(zip(distinct, self._embedder.embed(distinct), strict=True))
        return [
            _judged(item, claims, passages, vectors)
            for item, claims in zip(summaries, split, strict=True)
        ]


def _judged(
    item: Audited,
    claims: Sequence[tuple[str, bool]],
    passages: Mapping[str, Sequence[str]],
    vectors: Mapping[str, Vectors],
) -> list[SentenceFinding]:
    """Findings on the claims of a summary, each with whether it is quoted from the children."""
    node_id = item.node.id
    if not item.children:
        return [
            SentenceFinding(node_id, text, "unsupported", 0.0, reason="it has no children")
            for text, _ in claims
        ]
    held = [(child.id, text) for child in item.children for text in passages.get(child.text, ())]
    texts = [text for _, text in held]
    known = Passages(texts, np.array([vectors[text] for text in texts]))
    findings = []
    for text, quoted in claims:
        if quoted:
            findings.append(_quoted(item, text))
        else:
            claim = known.weigh(text, vectors[text])
            findings.append(_finding(node_id, text, claim, *held[claim.nearest]))
    return findings


def _quoted(item: Audited, sentence: str) -> SentenceFinding:
    """Of a sentence in the children's own words; evidence is the child that holds all of it."""
    whole = folded(sentence)
    child = next((child for child in item.children if whole in folded(child.text)), None)
    evidence = sentence if child and sentence in child.text else ""
    score = probability({})
    return SentenceFinding(
        item.node.id, sentence, "supported", score, (), child.id if child else None, evidence
    )


def probability(doubts: Doubts) -> float:
    """That a sentence with these doubts is supported, in (0, 1)."""
    odds = BIAS + sum(WEIGHTS[name] * doubt for name, doubt in doubts.items())
    return 1 / (1 + math.exp(-odds))


def _finding(
    node_id: str, sentence: str, claim: Claim, child: str, passage: str
) -> SentenceFinding:
    score = probability(claim.doubts)
    judgement: Judgement = "supported"
    reason = ""
    if score < THRESHOLD or claim.doubts["numbers"] or claim.doubts["names"]:
        judgement = "unsupported"
        reason = "; ".join(told for name, told in _TOLD.items() if claim.doubts[name])
    return SentenceFinding(
        node_id, sentence, judgement, score, claim.missing, child, passage, reason
    )


_TOLD = {
    "numbers": "a number that no child holds",
    "names": "a name that no child holds",
    "negations": "it negates what no child negates",
    "opposites": "a child says the opposite of one of its words",
    "absolutes": "it is more absolute than the children",
    "uncovered": "many of its words stand in no child",
    "very_far": "no child says anything like it",
    "far": "no child says quite the same",
}
