"""What a check is, what it is run on, and what it says: numbers, the worst nodes, a remedy.

A check is a function under ``@check`` and an entry in a list of ``registry``: it takes what is
judged, such as ``CheckedLayer``, and gives what it ``Measured``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, ParamSpec

from raptor_core.errors import InvariantError
from raptor_core.nodes import Node, Tree
from raptor_core.settings import Settings

Judged = ParamSpec("Judged")
Severity = Literal["error", "warn"]
N_WORST = 5


@dataclass(frozen=True, slots=True)
class WorstNode:
    """A node to look at first. ``value`` is the number that the check judged it by.

    Where what is wrong is no node, ``node_id`` is empty.
    """

    node_id: str
    text: str
    value: float
    why: str
    tree: str = ""

    @classmethod
    def of(cls, node: Node, value: float, why: str) -> WorstNode:
        """A node of a tree."""
        return cls(node.id, node.text, value, why, node.tree)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one check.

    ``summary`` is one sentence for people. ``numbers`` are finite and keep their names from
    build to build, so that they can be plotted over time. ``worst`` holds at most ``N_WORST``
    nodes, worst first, also when the check passed. ``remedy`` is one line, empty when it passed.
    """

    name: str
    passed: bool
    severity: Severity
    summary: str
    numbers: Mapping[str, float]
    worst: tuple[WorstNode, ...] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a check found; see ``Verdict``. The remedy is for a failure, and dropped otherwise."""

    passed: bool
    summary: str
    numbers: Mapping[str, float]
    worst: Iterable[WorstNode] = ()
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """A check before it runs: a name, whether its failure stops publishing, and what it means."""

    name: str
    severity: Severity
    description: str

    @property
    def blocking(self) -> bool:
        """Whether a failure stops the publication."""
        return self.severity == "error"

    def verdict(self, measured: Measured) -> Verdict:
        """The verdict on what was measured; the remedy is kept only for a failure."""
        return Verdict(
            self.name,
            measured.passed,
            self.severity,
            measured.summary,
            {name: float(number) for name, number in measured.numbers.items()},
            tuple(measured.worst)[:N_WORST],
            "" if measured.passed else measured.remedy,
        )


@dataclass(frozen=True, slots=True)
class Check(CheckInfo, Generic[Judged]):
    """A check that can be run on what its function measures."""

    measure: Callable[Judged, Measured]

    def __call__(self, *judged: Judged.args, **named: Judged.kwargs) -> Verdict:
        """The verdict on what is judged."""
        return self.verdict(self.measure(*judged, **named))


def check(
    name: str, severity: Severity, description: str
) -> Callable[[Callable[Judged, Measured]], Check[Judged]]:
    """Makes a check of the function that measures."""
    return lambda measure: Check(name, severity, description, measure)


def children_of(node: Node, below: Mapping[str, Node]) -> list[Node]:
    """The node's children that are known and of its own tree, in order."""
    known = (below.get(child) for child in node.children)
    return [child for child in known if child is not None and child.tree == node.tree]


def percent(share: float) -> str:
    """A share in [0, 1] as people read it, such as "5 %" or "0.4 %"."""
    return f"{100 * share:.3g} %"


def blocking_failures(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts that stop publishing."""
    return [v for v in verdicts if not v.passed and v.severity == "error"]


def require(verdicts: Iterable[Verdict]) -> None:
    """Stop when a blocking check failed.

    Raises:
        InvariantError: it names the checks, what they found, and the remedies.
    """
    failed = blocking_failures(verdicts)
    if failed:
        told = "; ".join(f"{v.name}: {v.summary} {v.remedy}" for v in failed)
        raise InvariantError(f"expected a tree that keeps the laws; {told}")


LayerMeans = Mapping[str, float]
"""Means of one layer in one build, by name: what its later builds are compared with."""


@dataclass(frozen=True)
class CheckedLayer:
    """One layer of summaries, of one or more trees; it may be empty.

    Attributes:
        nodes: in order of position.
        below: node of the layer below by id.
        settings: with the bounds.
        past: means of earlier builds, oldest first.
        quotes: the summaries are their children's own sentences: no model made junk of them or
            cut them, whatever they look like.
    """

    nodes: Sequence[Node]
    below: Mapping[str, Node]
    settings: Settings
    past: Sequence[LayerMeans] = ()
    quotes: bool = False

    @cached_property
    def summaries(self) -> list[Node]:
        """The nodes that are no leaves."""
        return [node for node in self.nodes if not node.is_leaf]

    @property
    def written(self) -> list[Node]:
        """The summaries that a model wrote."""
        return [] if self.quotes else self.summaries

    def texts_below(self, node: Node) -> list[str]:
        """Texts of the node's children."""
        return [child.text for child in children_of(node, self.below)]


@dataclass(frozen=True)
class CheckedTrees:
    """The trees of a partition."""

    trees: Sequence[Tree]
    settings: Settings

    @cached_property
    def layers(self) -> list[list[Node]]:
        """The nodes of all trees, layer by layer from the leaves up."""
        depth = max((len(tree.layers) for tree in self.trees), default=0)
        return [
            [n for tree in self.trees if at < len(tree.layers) for n in tree.layers[at].nodes]
            for at in range(depth)
        ]
