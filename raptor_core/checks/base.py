"""Values of a check: its input, its measurement, and its result with the worst nodes and a remedy.

A check is a function under ``@check`` and an entry in a list of ``registry``. It takes an input,
such as ``CheckedLayer``, and returns a ``CheckMeasurement``.
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
from raptor_core.vectors import Vectors

Judged = ParamSpec("Judged")
Severity = Literal["error", "warn"]
N_WORST = 5
DIGITS = 4
"""Decimals of shown values; bounds apply to exact values."""
_QUOTATION = re.compile(r"""(?<!\w)(['"]).+\1(?!\w)|“[^”]*”""", re.DOTALL)
"""Text between quotation marks; an apostrophe within a word is none."""


@dataclass(frozen=True, slots=True)
class WorstNode:
    """Node to look at first, with the number that judged it; ``node_id`` is empty for no node."""

    node_id: str
    text: str
    value: float
    why: str
    tree: str = ""

    @classmethod
    def of(cls, node: Node, value: float, why: str) -> "WorstNode":
        """Make the entry of a node of a tree."""
        return cls(node.id, node.text, value, why, node.tree)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check.

    Attributes:
        passed: false if a bound is broken.
        severity: "error" stops the publication.
        summary: one sentence for people.
        numbers: finite numbers whose names are the same in every build, to be plotted over time.
        worst: at most ``N_WORST`` nodes, worst first, also if the check passed.
        remedy: one line; empty if the check passed.
        only_warns: whether it never stops the publication, whatever the settings say.
    """

    name: str
    passed: bool
    severity: Severity
    summary: str
    numbers: Mapping[str, float]
    worst: tuple[WorstNode, ...] = ()
    remedy: str = ""
    only_warns: bool = False

    def without_texts(self) -> "CheckResult":
        """Return the result without texts of nodes and without quotations."""
        worst = (WorstNode(node.node_id, "", node.value, "", node.tree) for node in self.worst)
        return replace(self, summary=without_quotations(self.summary), worst=tuple(worst))


def without_quotations(text: str) -> str:
    """Return a message whose texts between quotation marks are replaced by "…"."""
    return _QUOTATION.sub("“…”", text)


@dataclass(frozen=True, slots=True)
class CheckMeasurement:
    """Measurement of a check, see ``CheckResult``; its remedy counts for a failure only."""

    passed: bool
    summary: str
    numbers: Mapping[str, float]
    worst: Iterable[WorstNode] = ()
    remedy: str = ""
    only_warns: bool = False


@dataclass(frozen=True, slots=True)
class CheckInfo:
    """Description of a check: its name, its severity, and what it measures."""

    name: str
    severity: Severity
    description: str

    @property
    def blocking(self) -> bool:
        """True if a failure stops the publication."""
        return self.severity == "error"

    def result(self, measured: CheckMeasurement) -> CheckResult:
        """Return the result of a measurement; keep the remedy only for a failure."""
        return CheckResult(
            self.name,
            measured.passed,
            "warn" if measured.only_warns else self.severity,
            measured.summary,
            {name: float(number) for name, number in measured.numbers.items()},
            tuple(measured.worst)[:N_WORST],
            "" if measured.passed else measured.remedy,
            measured.only_warns,
        )


@dataclass(frozen=True, slots=True)
class Check(CheckInfo, Generic[Judged]):
    """Check that can run: calling it measures its input and returns the result."""

    measure: Callable[Judged, CheckMeasurement]

    def __call__(self, *args: Judged.args, **kwargs: Judged.kwargs) -> CheckResult:
        """Measure the input, and return the result."""
        return self.result(self.measure(*args, **kwargs))


def check(
    name: str, severity: Severity, description: str
) -> Callable[[Callable[Judged, CheckMeasurement]], Check[Judged]]:
    """Make a check of the function that measures."""
    return lambda measure: Check(name, severity, description, measure)


def children_of(node: Node, below: Mapping[str, Node]) -> list[Node]:
    """Return the children of a node that are known and belong to its tree, in order."""
    known = (below.get(child) for child in node.children)
    return [child for child in known if child is not None and child.tree == node.tree]


def percent(share: float) -> str:
    """Format a share in [0, 1], such as "5 %" or "0.4 %"."""
    return f"{100 * share:.3g} %"


def distribution(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return mean and interpolated quantiles as ``name_mean``, ``name_p05`` and so on, rounded.

    The result is empty without values, so that no plot shows a 0. Values must be finite.
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


def with_severities(checks: Iterable[Severe], settings: CheckSettings) -> list[Severe]:
    """Return results or checks with the severities of the settings, without those that are off."""
    levels: Mapping[Any, Any] = settings.severity
    pairs = [(check, levels.get(check.name, check.severity)) for check in checks]
    return [
        check if getattr(check, "only_warns", False) else replace(check, severity=level)
        for check, level in pairs
        if level != "off"
    ]


def blocking_failures(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Return the results that stop the publication."""
    return [result for result in results if not result.passed and result.severity == "error"]


def explain_refusal(failed: Iterable[CheckResult]) -> str:
    """Return what failed, and the remedies."""
    return "; ".join(f"check {each.name}: {each.summary} {each.remedy}" for each in failed)


def require(results: Iterable[CheckResult]) -> None:
    """Raise InvariantError, with summaries and remedies, if a blocking check failed."""
    failed = blocking_failures(results)
    if failed:
        raise InvariantError(f"expected a tree that keeps the laws; {explain_refusal(failed)}")


@dataclass(frozen=True)
class CheckedLayer:
    """Layer of summaries of one or more trees; it may be empty.

    Attributes:
        nodes: nodes in order of position.
        below: nodes of the layer below, by id.
        quotes: true if the summaries quote sentences of their children, so that no model can have
            written junk or a cut text.
        vectors: unit vectors of the nodes and of those below, by id; empty if they are unknown.
        leaves: texts of the leaves beneath each node that a chat model wrote, by its id.
    """

    nodes: Sequence[Node]
    below: Mapping[str, Node]
    settings: Settings
    quotes: bool = False
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    leaves: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def summaries(self) -> list[Node]:
        """Nodes that are no leaves."""
        return [node for node in self.nodes if not node.is_leaf]

    @property
    def written(self) -> list[Node]:
        """Summaries that a model wrote."""
        return [] if self.quotes else [n for n in self.summaries if QUOTED.isdisjoint(n.quality)]

    def texts_below(self, node: Node) -> list[str]:
        """Return the texts of the node's children."""
        return [child.text for child in children_of(node, self.below)]


@dataclass(frozen=True)
class CheckedClusters:
    """Clusters over one layer, before their summaries are made; see ``CheckedLayer``."""

    clusters: Sequence[Sequence[Node]]
    settings: Settings


@dataclass(frozen=True)
class CheckedTrees:
    """Trees of a partition; ``readers`` are those of documents that have some."""

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
