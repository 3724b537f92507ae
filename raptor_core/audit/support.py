"""The default judge, which needs no chat model.

It computes the probability that a sentence is supported from the similarity to the children's
sentences, covered words, exact terms and opposites.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from raptor_core.audit.base import Judgement, SentenceFinding, SummaryToAudit, sentence_texts
from raptor_core.audit.collage import fold_case_and_spaces, is_collage
from raptor_core.audit.terms import (
    RequiredTerms,
    find_missing_terms,
    find_required_terms,
    find_spaced_words,
    find_supported_terms,
    merge_supported_terms,
)
from raptor_core.models.embedding.base import Embedder
from raptor_core.threads import one_blas_thread
from raptor_core.vectors import Vectors


@cache
def opposite_stems() -> Mapping[str, frozenset[str]]:
    """Return the stems of a word's opposites, by the stem of the word."""
    text = Path(__file__).with_name("opposites.txt").read_text(encoding="utf-8")
    by_stem: defaultdict[str, set[str]] = defaultdict(set)
    for pair in text.split(","):
        first, second = (word.stem for word in find_spaced_words(pair))
        by_stem[first].add(second)
        by_stem[second].add(first)
    return {stem: frozenset(stems) for stem, stems in by_stem.items()}


_KIN = """mother father parent son daughter child kid offspring mom mommy mum mummy mama mamma dad
daddy papa stepmother stepfather stepparent stepson stepdaughter stepchild,
sister brother sibling twin triplet stepsister stepbrother,
wife husband spouse bride groom bridegroom widow widower fiance fiancee fiancé fiancée newlywed
marry marriage wedding,
uncle aunt auntie nephew niece,
grandmother grandfather grandparent grandson granddaughter grandchild grandma grandpa granny grandad
granddad,
cousin"""
"""Kinship words; commas separate relations, whose words describe them from either side."""


@cache
def kinship_stems() -> Mapping[str, frozenset[str]]:
    """Return the stems that name the same relation, by the stem of each kinship word."""
    relations = [
        frozenset(word.stem for word in find_spaced_words(line)) for line in _KIN.split(",")
    ]
    return {stem: relation for relation in relations for stem in relation}


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
_ABSOLUTE = """all always certainly completely entirely every exclusively impossible must never no
none only solely"""
_ABSOLUTES = frozenset(_ABSOLUTE.split())

Doubts = Mapping[str, float]
"""Reasons to doubt a sentence, each 0 if it does not apply.

"Passages" are the sentences of the children.

- far, very_far: 0.6, or 0.45, minus the mean cosine similarity of the three nearest passages; fewer
  than three if there are fewer than twelve passages.
- uncovered: 0.6 minus the share of content words that any passage contains.
- numbers (and codes), names: count of those that no passage contains; at most 2, like all counts.
- relations: count of kinship words whose relation no passage names, from either side.
- negations: count of negations for which no passage negates nearly the same words. This doubt and
  the next two grow with the similarity of the nearest passage, and are full from a cosine of 0.7.
- opposites: count of words that the nearest passages lack, but whose opposite they contain.
- absolutes: count of words such as "always" that the nearest passages lack.
"""


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """A sentence compared with the children's sentences.

    Attributes:
        doubts: reasons to doubt it.
        missing_terms: its numbers and names, and then its words, that no child contains.
        nearest_index: row of the most similar sentence.
    """

    doubts: Doubts
    missing_terms: tuple[str, ...]
    nearest_index: int


class EvidenceSentences:
    """The sentences of a summary's children, and their vectors, shape ``(n_sentences, n_dims)``.

    If the children are summaries, numbers, names and relations are compared with the ``leaves``
    instead, so that what one summary invents does not support the summary above it.
    """

    def __init__(self, texts: Sequence[str], vectors: Vectors, leaves: Sequence[str] = ()) -> None:
        self.texts = texts
        self._vectors = vectors
        self._terms = [find_supported_terms(text) for text in texts]
        self._all_terms = merge_supported_terms(self._terms)
        self._facts = (
            merge_supported_terms([find_supported_terms(leaf) for leaf in leaves])
            if leaves
            else self._all_terms
        )
        pairs = zip(texts, self._terms, strict=True)
        self._negated = [of_text.forms for text, of_text in pairs if _NEGATION.search(text)]

    def compare_sentence(self, sentence: str, vector: Vectors) -> ClaimSupport:
        """Return the doubts about a sentence with its unit vector, shape ``(n_dims,)``."""
        needs = find_required_terms(sentence, self._facts)
        similarity = self._vectors @ vector
        order = np.argsort(-similarity, kind="stable")[:N_NEAREST]
        near = merge_supported_terms([self._terms[row] for row in order]).forms
        stems = {word.stem for word in needs.words}
        absolutes = {w.stem for w in needs.words if w.text.casefold() in _ABSOLUTES}
        n_similar = max(1, min(_N_SIMILAR, len(self.texts) // 4))
        closeness = float(similarity[order[:n_similar]].mean())
        closest = float(np.clip((float(similarity[order[0]]) - _ALIKE) / (_SAME - _ALIKE), 0, 1))
        missing_words = find_missing_terms(needs.content_words, self._all_terms)
        missing_numbers = find_missing_terms(needs.numbers, self._facts)
        missing_names = find_missing_terms(needs.names, self._facts)
        covered = 1 - len(missing_words) / len(needs.content_words) if needs.content_words else 1.0
        forms = self._facts.forms
        n_unnamed = sum(
            kinship_stems()[stem].isdisjoint(forms) for stem in stems & kinship_stems().keys()
        )
        lacking = (stems - near) & opposite_stems().keys()
        n_opposites = sum(not opposite_stems()[stem].isdisjoint(near) for stem in lacking)
        doubts = {
            "far": max(0.0, _FAR - closeness),
            "very_far": max(0.0, _VERY_FAR - closeness),
            "uncovered": max(0.0, _UNCOVERED - covered),
            "numbers": min(_MOST, len(missing_numbers)),
            "names": min(_MOST, len(missing_names)),
            "relations": min(_MOST, n_unnamed),
            "negations": closest * min(_MOST, self._count_unmatched_negations(needs)),
            "opposites": closest * min(_MOST, n_opposites),
            "absolutes": closest * min(_MOST, len(absolutes - near)),
        }
        missing = tuple(dict.fromkeys([*missing_numbers, *missing_names, *missing_words]))
        return ClaimSupport(doubts, missing, int(order[0]))

    def _count_unmatched_negations(self, needs: RequiredTerms) -> int:
        """Count the negations for which no source sentence negates nearly the same words."""
        n_unmatched = 0
        for match in _NEGATION.finditer(needs.text):
            scope = [w.stem for w in needs.words if w.start >= match.end() and not w.is_function]
            negated = frozenset(scope[:_SCOPE])
            least = max(1, len(negated) - 1)
            n_unmatched += not any(len(negated & forms) >= least for forms in self._negated)
        return n_unmatched


QUOTED_CHARS = 40
"""Minimum letters of a quotation; a shorter one must be a complete sentence or line of a child."""
BIAS = 0.487
WEIGHTS: Mapping[str, float] = {
    "far": -1.992,
    "very_far": -4.796,
    "uncovered": -2.252,
    "numbers": -1.0,
    "names": -2.884,
    "relations": -2.884,
    "negations": -0.5,
    "opposites": -1.371,
    "absolutes": -1.242,
}
"""Coefficients of a logistic regression on labelled claims; see docs/research.md."""

THRESHOLD = 0.54
"""Score below which a sentence is unsupported, chosen on real inventions; see docs/research.md."""


_DECISIVE = ("numbers", "names", "relations")
"""Doubts that make a sentence unsupported, whatever its score."""


class SupportJudge:
    """A judge that weighs reasons to doubt a sentence.

    ``embedder`` should be all-MiniLM-L6-v2, with which the score is calibrated.
    """

    name = "support"
    version = "4"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @one_blas_thread
    def judge(self, summaries: Sequence[SummaryToAudit]) -> list[list[SentenceFinding]]:
        """Return the findings on each summary; see ``Judge.judge``."""
        split = []
        passages: dict[str, Sequence[str]] = {}
        to_embed: set[str] = set()
        for item in summaries:
            children = [child.text for child in item.children]
            texts = sentence_texts(item.node.text)
            claims = [
                (text, _is_supported_quotation(text, children, item.leaf_texts)) for text in texts
            ]
            split.append(claims)
            doubtful = [text for text, quoted in claims if not quoted]
            if children and doubtful:
                passages |= {text: sentence_texts(text) for text in children}
                to_embed.update(doubtful, *(passages[text] for text in children))
        distinct = sorted(to_embed)
        vectors = dict(zip(distinct, self._embedder.embed(distinct), strict=True))
        return [
            _judge_claims(item, claims, passages, vectors)
            for item, claims in zip(summaries, split, strict=True)
        ]


def _is_supported_quotation(sentence: str, children: Sequence[str], leaves: Sequence[str]) -> bool:
    """Return whether a sentence quotes the children, and all its facts are in the leaves."""
    if not is_collage(sentence, children, QUOTED_CHARS):
        return False
    sources = merge_supported_terms([find_supported_terms(leaf) for leaf in leaves])
    return not leaves or not find_missing_terms(
        find_required_terms(sentence, sources).numbers_and_names, sources
    )


def _judge_claims(
    item: SummaryToAudit,
    claims: Sequence[tuple[str, bool]],
    passages: Mapping[str, Sequence[str]],
    vectors: Mapping[str, Vectors],
) -> list[SentenceFinding]:
    """Return findings on the claims of a summary, pairs of a sentence and whether it is quoted."""
    node_id = item.node.id
    if not item.children:
        return [
            SentenceFinding(node_id, text, "unsupported", 0.0, reason="it has no children")
            for text, _ in claims
        ]
    rows = [(child.id, text) for child in item.children for text in passages.get(child.text, ())]
    texts = [text for _, text in rows]
    evidence = EvidenceSentences(
        texts, np.array([vectors[text] for text in texts]), item.leaf_texts
    )
    findings = []
    for text, quoted in claims:
        if quoted:
            findings.append(_make_quotation_finding(item, text))
        else:
            claim = evidence.compare_sentence(text, vectors[text])
            findings.append(_make_finding(node_id, text, claim, *rows[claim.nearest_index]))
    return findings


def _make_quotation_finding(item: SummaryToAudit, sentence: str) -> SentenceFinding:
    """Return the finding on a quoted sentence; its evidence is a child that contains all of it."""
    quotation = fold_case_and_spaces(sentence)
    child = next(
        (child for child in item.children if quotation in fold_case_and_spaces(child.text)), None
    )
    evidence = sentence if child and sentence in child.text else ""
    score = support_probability({})
    return SentenceFinding(
        item.node.id, sentence, "supported", score, (), child.id if child else None, evidence
    )


def support_probability(doubts: Doubts) -> float:
    """Return the probability that a sentence with these doubts is supported, in (0, 1)."""
    odds = BIAS + sum(WEIGHTS[name] * doubt for name, doubt in doubts.items())
    return 1 / (1 + math.exp(-odds))


def _make_finding(
    node_id: str, text: str, claim: ClaimSupport, child: str, passage: str
) -> SentenceFinding:
    score = support_probability(claim.doubts)
    judgement: Judgement = "supported"
    reason = ""
    if score < THRESHOLD or any(claim.doubts[name] for name in _DECISIVE):
        judgement = "unsupported"
        reason = "; ".join(reason for name, reason in _REASONS.items() if claim.doubts[name])
    return SentenceFinding(
        node_id, text, judgement, score, claim.missing_terms, child, passage, reason
    )


_REASONS = {
    "numbers": "a number, code or address that no child holds",
    "names": "a name that no child holds",
    "relations": "a relation between persons that no child names",
    "negations": "it negates words that no child negates",
    "opposites": "a child says the opposite of one of its words",
    "absolutes": "it is more absolute than the children",
    "uncovered": "no child holds many of its words",
    "very_far": "no child says anything like it",
    "far": "no child says exactly the same",
}
