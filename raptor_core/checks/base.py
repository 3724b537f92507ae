"""The classes of a check: inputs, measurement, and the result with the worst nodes and a remedy.

A check is a function with the decorator ``@check`` and an entry in a list of ``registry``. It takes
an input, such as ``CheckedLayer``, and returns a ``CheckMeasurement``.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Literal, ParamSpec, TypeVar

import numpy as np

from raptor_core.errors import InvariantError
from raptor_core.identity import QUOTED
from raptor_core.nodes import Node, Tree
from raptor_core.settings import CheckSettings, Settings

Judged = ParamSpec("Judged")
Severity = Literal["error", "warn"]
N_WORST = 5
DIGITS = 4
"""Decimals of reported numbers; bounds are compared with exact ones."""
_QUOTATION = re.compile(r"""(?<!\w)(['"]).+\1(?!\w)|“[^”]*”""", re.DOTALL)
"""Text between quotation marks; an apostrophe within a word is not a quotation mark."""


@dataclass(frozen=True, slots=True)
class WorstNode:
    """A node to look at first, and why.

    Attributes:
        node_id: id of the node; "" for a document or another text that is not a node.
        value: the number by which it is among the worst.
        why: the reason in words.
        tree: tree of the node, or id of the document.
    """

    node_id: str
    text: str
    value: float
    why: str
    tree: str = ""

    @classmethod
    def from_node(cls, node: Node, value: float, why: str) -> "WorstNode":
        """Make the entry for a node of a tree."""
        return cls(node.id, node.text, value, why, node.tree)


@dataclass(frozen=True, slots=True)
class CheckMeasurement:
    """What the function of a check measured.

    Attributes:
        passed: False if a bound is exceeded.
        summary: the result in a sentence or two.
        numbers: finite numbers whose names are the same in every build, to be plotted over time.
        worst: nodes to look at, worst first, also if the check passed.
        remedy: what to do if the check failed, in one line.
        only_warns: it never blocks the publication, whatever severity the settings give it.
    """

    passed: bool
    summary: str
    numbers: Mapping[str, float]
    worst: Iterable[WorstNode] = ()
    remedy: str = ""
    only_warns: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult(CheckMeasurement):
    """The result of a check: at most ``N_WORST`` worst nodes, and no remedy if it passed.

    A failed check of severity "error" blocks the publication.
    """

    name: str
    severity: Severity
    worst: tuple[WorstNode, ...] = ()

    def without_texts(self) -> "CheckResult":
        """Return the result without texts of nodes and without quoted texts."""
        worst = (WorstNode(node.node_id, "", node.value, "", node.tree) for node in self.worst)
        return replace(self, summary=without_quotations(self.summary), worst=tuple(worst))


def without_quotations(text: str) -> str:
    """Replace texts between quotation marks in a message by "…"."""
    return _QUOTATION.sub("“…”", text)


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """A check's name, default severity, and description of what it measures."""

    name: str
    severity: Severity
    description: str

    @property
    def is_blocking(self) -> bool:
        """Whether a failure blocks the publication."""
        return self.severity == "error"

    def make_result(self, measured: CheckMeasurement) -> CheckResult:
        """Return the result of a measurement."""
        return CheckResult(
            measured.passed,
            measured.summary,
            {name: float(number) for name, number in measured.numbers.items()},
            remedy="" if measured.passed else measured.remedy,
            only_warns=measured.only_warns,
            name=self.name,
            severity="warn" if measured.only_warns else self.severity,
            worst=tuple(measured.worst)[:N_WORST],
        )


@dataclass(frozen=True, slots=True)
class Check(CheckInfo, Generic[Judged]):
    """A check that can run: calling it measures its input and returns the result."""

    measure: Callable[Judged, CheckMeasurement]

    def __call__(self, *args: Judged.args, **kwargs: Judged.kwargs) -> CheckResult:
        """Measure the input and return the result."""
        return self.make_result(self.measure(*args, **kwargs))


def check(
    name: str, severity: Severity, description: str
) -> Callable[[Callable[Judged, CheckMeasurement]], Check[Judged]]:
    """Turn a function that returns a measurement into a check."""
    return lambda measure: Check(name, severity, description, measure)


def children_of(node: Node, below: Mapping[str, Node]) -> list[Node]:
    """Return the children of a node that are in ``below`` and in its tree, in order."""
    found = (below.get(child) for child in node.children)
    return [child for child in found if child is not None and child.tree == node.tree]


def format_percent(share: float) -> str:
    """Format a share in [0, 1], such as "5 %" or "0.4 %"."""
    return f"{100 * share:.3g} %"


def distribution_figures(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return rounded mean and interpolated quantiles as ``name_mean``, ``name_p05`` and so on.

    The result is empty if there are no values, so that no plot shows a 0. Values must be finite.
    """
    if not len(values):
        return {}
    quantiles = np.quantile(values, (0.0, 0.05, 0.5, 0.95, 1.0))
    figures = ("mean", "minimum", "p05", "median", "p95", "maximum")
    return {
        f"{name}_{figure}": round(float(value), DIGITS)
        for figure, value in zip(figures, (np.mean(values), *quantiles), strict=True)
    }


Severe = TypeVar("Severe", CheckResult, CheckInfo)


def apply_severities(checks: Iterable[Severe], settings: CheckSettings) -> list[Severe]:
    """Give results or checks the severities of the settings, and omit those that are off."""
    levels: Mapping[Any, Any] = settings.severity
    pairs = [(check, levels.get(check.name, check.severity)) for check in checks]
    return [
        check if getattr(check, "only_warns", False) else replace(check, severity=level)
        for check, level in pairs
        if level != "off"
    ]


def blocking_failures(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the results that block the publication."""
    return [result for result in results if not result.passed and result.severity == "error"]


def describe_failed_checks(failed: Iterable[CheckResult]) -> str:
    """Describe failed checks with their remedies, for an error message."""
    return "; ".join(f"check {each.name}: {each.summary} {each.remedy}" for each in failed)


def require_passed(results: Iterable[CheckResult]) -> None:
    """Raise InvariantError, with summaries and remedies, if a blocking check failed."""
    failed = blocking_failures(results)
    if failed:
        raise InvariantError(
            f"expected a tree that keeps all laws; {describe_failed_checks(failed)}"
        )


@dataclass(frozen=True)
class CheckedLayer:
    """A layer of summaries of one or more trees; it may be empty.

    Attributes:
        nodes: nodes in order of position.
        nodes_below: nodes of the layer below, by id.
        is_extractive: summaries quote their children, so checks of a model's texts are moot.
        leaf_texts: by node id, texts of the leaves below each node that a chat model wrote.
    """

    nodes: Sequence[Node]
    nodes_below: Mapping[str, Node]
    settings: Settings
    is_extractive: bool = False
    leaf_texts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def summaries(self) -> list[Node]:
        """Nodes that are not leaves."""
        return [node for node in self.nodes if not node.is_leaf]

    @property
    def written_by_model(self) -> list[Node]:
        """Summaries whose text was written by a model and not quoted."""
        return (
            []
            if self.is_extractive
            else [n for n in self.summaries if QUOTED.isdisjoint(n.quality)]
        )

    def child_texts(self, node: Node) -> list[str]:
        """Return the texts of the node's children."""
        return [child.text for child in children_of(node, self.nodes_below)]


@dataclass(frozen=True)
class CheckedClusters:
    """Clusters over a layer, before their summaries are written; see ``CheckedLayer``."""

    clusters: Sequence[Sequence[Node]]
    settings: Settings


@dataclass(frozen=True)
class CheckedTrees:
    """The trees of a partition; ``readers`` are by document, without documents that have none."""

    trees: Sequence[Tree]
    settings: Settings
    readers: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def layers(self) -> list[list[Node]]:
        """Nodes of all trees, layer by layer from the leaves up."""
        depth = max((len(tree.layers) for tree in self.trees), default=0)
        return [
            [n for tree in self.trees if at < len(tree.layers) for n in tree.layers[at].nodes]
            for at in range(depth)
        ]
