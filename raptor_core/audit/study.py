"""A study by hand: nodes drawn at random, a person's verdict on every sentence, the figures.

After appendix E of the RAPTOR paper, where people read 150 nodes of 40 stories: 4 % held a
hallucination, most of them added information or wrong extrapolation, and no parent repeated one.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.audit.base import NamedText, Segmenter, SentenceFinding, sentence_texts
from raptor_core.audit.needs import lacking, needs_of
from raptor_core.audit.propagation import Propagation, measure_propagation
from raptor_core.audit.terms import MAX_CAPITALS, terms, union
from raptor_core.identity import digest
from raptor_core.nodes import Node

KINDS = ("added", "extrapolated", "contradicted")
"""Kinds of hallucination: no child says it; it does not follow from them; they say otherwise."""

VERDICTS = ("supported", *KINDS, "unsure")
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A summary as it was when it was drawn, with its children and the summaries over it."""

    id: str
    tree: str
    layer: int
    text: str
    sentences: tuple[str, ...]
    children: tuple[NamedText, ...]
    parents: tuple[NamedText, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a person is asked about: ``nodes`` of ``population`` summaries in ``n_trees`` trees."""

    seed: int
    n_trees: int
    population: int
    nodes: tuple[DrawnNode, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person said of one sentence: one of VERDICTS, and a note that may be empty."""

    verdict: str
    note: str = ""


Verdicts = Mapping[tuple[str, int], Verdict]
"""By node id and number of the sentence, from 0."""


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """What the verdicts come to.

    Attributes:
        n_nodes: nodes with a verdict, but for those without hallucination that hold a sentence
            of which the person is unsure.
        n_hallucinating: those with a sentence of one of KINDS.
        low, high: Wilson's 95 % interval of their share.
        kinds: such sentences of each kind.
        propagation: how many of them a parent repeats.
    """

    n_nodes: int
    n_hallucinating: int
    low: float
    high: float
    kinds: Mapping[str, int]
    propagation: Propagation

    @property
    def share(self) -> float:
        """Share of the nodes that hold a hallucination; 0 without nodes."""
        return self.n_hallucinating / self.n_nodes if self.n_nodes else 0.0


@dataclass(frozen=True, slots=True)
class _Parent:
    text: str
    children: tuple[str, ...]


def draw(
    trees: Mapping[str, Sequence[Node]],
    n_nodes: int,
    n_trees: int,
    seed: int,
    segmenter: Segmenter,
) -> Drawn:
    """``n_nodes`` summaries of ``n_trees`` trees, or all there are; each is equally likely.

    Trees, then nodes of those, are those with the smallest hash of ``seed`` and name or id: the
    same home and seed give the same nodes, whatever order they come in.

    Args:
        trees: all nodes of every tree, by its name.
        segmenter: tells the sentences of a text.
    """
    able = [name for name, nodes in trees.items() if any(not node.is_leaf for node in nodes)]
    chosen = heapq.nsmallest(n_trees, able, key=lambda name: digest("draw", str(seed), name))
    pool = [node for name in chosen for node in trees[name] if not node.is_leaf]
    drawn = heapq.nsmallest(n_nodes, pool, key=lambda node: digest("draw", str(seed), node.id))
    kept = (_drawn(node, trees[node.tree], segmenter) for node in drawn)
    return Drawn(seed, len(chosen), len(pool), tuple(kept))


def _drawn(node: Node, nodes: Sequence[Node], segmenter: Segmenter) -> DrawnNode:
    by_id = {other.id: other for other in nodes}
    children = (by_id[child] for child in node.children if child in by_id)
    parents = (other for other in nodes if node.id in other.children)
    return DrawnNode(
        node.id,
        node.tree,
        node.layer,
        node.text,
        tuple(sentence_texts(segmenter, node.text)),
        tuple(NamedText(child.id, child.text) for child in children),
        tuple(NamedText(parent.id, parent.text) for parent in parents),
    )


def hand_findings(drawn: Drawn, verdicts: Verdicts) -> list[SentenceFinding]:
    """The verdicts as findings, in the order of the nodes; sentences without one are left out.

    ``missing`` are numbers and names that no child holds: what a parent can be searched for.
    """
    return [
        _finding(node, at, verdicts[node.id, at])
        for node in drawn.nodes
        for at in range(len(node.sentences))
        if (node.id, at) in verdicts
    ]


def _finding(node: DrawnNode, at: int, given: Verdict) -> SentenceFinding:
    sentence = node.sentences[at]
    reason = f"by hand: {given.verdict}" + (f", {given.note}" if given.note else "")
    if given.verdict == "supported":
        return SentenceFinding(node.id, sentence, "supported", 1.0, reason=reason)
    if given.verdict == "unsure":
        return SentenceFinding(node.id, sentence, "not judged", 0.0, reason=reason)
    held = union([terms(child.text) for child in node.children])
    needs = needs_of(sentence, with_names=held.capitals <= MAX_CAPITALS)
    missing = tuple(lacking(needs.exact, held))
    return SentenceFinding(node.id, sentence, "unsupported", 0.0, missing, reason=reason)


def study_figures(drawn: Drawn, verdicts: Verdicts) -> StudyFigures:
    """Share of nodes with a hallucination, of which kind they are, how many a parent repeats."""
    findings = hand_findings(drawn, verdicts)
    wrong = {f.node_id for f in findings if f.judgement == "unsupported"}
    unsure = {f.node_id for f in findings if f.judgement == "not judged"}
    judged = {f.node_id for f in findings} - (unsure - wrong)
    above = [_Parent(p.text, (node.id,)) for node in drawn.nodes for p in node.parents]
    counts = Counter(given.verdict for given in verdicts.values())
    low, high = wilson(len(wrong), len(judged))
    kinds = {kind: counts[kind] for kind in KINDS}
    propagation = measure_propagation(findings, above)
    return StudyFigures(len(judged), len(wrong), low, high, kinds, propagation)


def wilson(n_found: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share, which is not empty at 0 and 1; (0, 1) for no n."""
    if not n:
        return 0.0, 1.0
    share, square = n_found / n, _NORMAL_95**2 / n
    middle = share + square / 2
    half = _NORMAL_95 * math.sqrt(share * (1 - share) / n + square / n / 4)
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return max(0.0, low), min(1.0, high)
