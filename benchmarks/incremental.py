"""Summary calls of rebuilds, against the least possible, from scratch, and a cache with refits.

    python benchmarks/incremental.py states fastapi-docs/ --group-by corpus --plot calls.png
    python benchmarks/incremental.py edits narrativeqa.jsonl --documents 1
    python benchmarks/incremental.py rewrites qasper.jsonl --documents 10

The histories are told in ``histories.py``: successive states of a folder, paragraphs changed at
random, heavy rewriting. Of every step, over all its trees:

    leaves     of the state, and the share of them that is new
    calls      summaries that the rebuild made
    plan       the same as ``plan_rebuild`` foretold it, in brackets where it is an estimate
    least      distinct ancestors of changed leaves
    cache      summaries with clusters fitted anew and a cache of all earlier texts (baseline)
    scratch    summaries of a build from scratch (baseline)
    tokens     prompt tokens of our calls, and the share of those of a build from scratch
    cohesion   mean cosine of a node to its cluster's centre, by layer, ours and from scratch
    largest    members of the largest cluster, ours and from scratch
    own        seconds of the rebuild beside embedder and summarizer

The last lines give compression and cluster size of both trees after all steps, and, where the
documents have questions with evidence, the share of the evidence that a context of 1,000 tokens
holds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from histories import Grouped, edits, rewrites, states
from measuring import print_head, print_row

from raptor_core import Components, Document, Query, Retriever, Settings, Tree
from raptor_core.rebuild import plan_rebuild
from raptor_core.tree.build import build_trees
from raptor_core.tree.cache import NodeCache
from raptor_core.tree.layer_fit import mean_cohesion
from raptor_lab.comparison.measures import evidence_recall
from raptor_lab.datasets.load import load_dataset

EVIDENCE_TOKENS = 1000
HEAD = (
    *("step", "leaves", "new", "calls", "plan", "least", "cache", "scratch", "tokens", "share"),
    *("cohesion", "fresh", "largest", "fresh", "own"),
)


def main() -> None:
    arguments = _arguments()
    components = Components(Settings())
    if arguments.what == "states":
        steps = states(arguments.source, arguments.group_by)
    else:
        history = edits if arguments.what == "edits" else rewrites
        steps = history(arguments.source, arguments.skip, arguments.documents, arguments.seed)
    run = Run(components, fresh=not arguments.no_fresh)
    print_head(*HEAD)
    for name, documents in steps:
        run.step(name, documents)
    run.totals()
    run.shapes()
    run.evidence(arguments.source)
    if arguments.plot:
        plot(run.rows, arguments.plot)


@dataclass
class Row:
    """One step."""

    name: str
    leaves: int
    new: int
    calls: int
    plan: int
    least: int
    cache: int
    scratch: int
    tokens: int
    scratch_tokens: int
    cohesion: Sequence[float]
    fresh_cohesion: Sequence[float]
    largest: int
    fresh_largest: int
    own: float
    exact: bool


class Counted:
    """A summarizer that counts its calls, prompt tokens and seconds."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.calls = self.tokens = 0
        self.seconds = 0.0

    @property
    def fingerprint(self) -> str:
        """See ``Summarizer``."""
        return str(self._inner.fingerprint)

    def summarize(self, requests: Sequence[Any]) -> Iterator[Any]:
        """See ``Summarizer``."""
        self.calls += len(requests)
        self.tokens += sum(sum(request.n_tokens) for request in requests)
        started = time.perf_counter()
        yield from list(self._inner.summarize(requests))
        self.seconds += time.perf_counter() - started


class Remembering:
    """An embedder that embeds no text twice, to keep a long comparison short; counts seconds."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._known: dict[str, Any] = {}
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def embed(self, texts: Sequence[str]) -> Any:
        """See ``Embedder``."""
        started = time.perf_counter()
        missing = sorted({text for text in texts if text not in self._known}, key=len)
        if missing:
            self._known.update(zip(missing, self._inner.embed(missing), strict=True))
        found = np.stack([self._known[text] for text in texts])
        self.seconds += time.perf_counter() - started
        return found


@dataclass
class Run:
    """All steps, for our trees and for trees that are fitted from scratch."""

    base: Components
    fresh: bool = True
    rows: list[Row] = field(default_factory=list)
    ours: dict[str, Tree] = field(default_factory=dict)
    theirs: dict[str, Tree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._embedder = Remembering(self.base.embedder)
        self._ours, self._counted = self._components()
        theirs, self._their_counted = self._components()
        self._theirs = theirs.with_cache(NodeCache())
        self._documents: dict[str, Sequence[Document]] = {}

    def _components(self) -> tuple[Components, Counted]:
        summarizer = Counted(self.base.summarizer)
        embedder: Any = self._embedder
        return Components(self.base.settings, embedder=embedder, summarizer=summarizer), summarizer

    def step(self, name: str, documents: Grouped) -> None:
        """Rebuild what changed, both ways, and print the row."""
        changed = {
            tree: found
            for tree, found in documents.items()
            if [d.text for d in found] != [d.text for d in self._documents.get(tree, ())]
        }
        for gone in self._documents.keys() - documents.keys():
            self.ours.pop(gone)
            self.theirs.pop(gone, None)
        before = {tree: self.ours[tree] for tree in changed if tree in self.ours}
        known, components = _stored(self.ours), self._ours.with_cache(NodeCache())
        plan = plan_rebuild(before, changed, components=components, known=known)
        counted = self._counted
        start = (counted.calls, counted.tokens, counted.seconds, self._embedder.seconds)
        started = time.perf_counter()
        if changed:
            made = build_trees(changed, components=components, known=known, previous=before)
            self.ours.update(made)
        seconds = time.perf_counter() - started
        seconds -= counted.seconds - start[2] + self._embedder.seconds - start[3]
        refit = self._refit(changed)
        row = Row(
            name=name,
            leaves=sum(len(tree.layers[0].nodes) for tree in self.ours.values()),
            new=sum(_n_new(self.ours[tree], before.get(tree)) for tree in changed),
            calls=counted.calls - start[0],
            plan=plan.summary_usage.calls,
            least=sum(_least(self.ours[tree], before.get(tree)) for tree in changed),
            cache=refit,
            scratch=sum(tree.n_nodes - len(tree.layers[0].nodes) for tree in self.theirs.values()),
            tokens=counted.tokens - start[1],
            scratch_tokens=sum(map(_prompt_tokens, self.theirs.values())),
            cohesion=cohesions(self.ours),
            fresh_cohesion=cohesions(self.theirs),
            largest=_largest(self.ours),
            fresh_largest=_largest(self.theirs),
            own=seconds,
            exact=plan.exact,
        )
        self._documents = dict(documents)
        self.rows.append(row)
        self._print(row)

    def _refit(self, changed: Grouped) -> int:
        """Fit the changed trees from scratch, with a cache of all texts; return the calls."""
        before = self._their_counted.calls
        if changed and self.fresh:
            self.theirs.update(build_trees(changed, components=self._theirs))
        return self._their_counted.calls - before

    def _print(self, row: Row) -> None:
        share = f"{row.tokens / row.scratch_tokens:.1%}" if row.scratch_tokens else "-"
        plan = str(row.plan) if row.exact else f"({row.plan})"
        leaves = (row.leaves, f"{row.new / max(row.leaves, 1):.0%}")
        calls = (row.calls, plan, row.least, row.cache, row.scratch, row.tokens, share)
        cohesions = (_shown(row.cohesion), _shown(row.fresh_cohesion))
        sizes = (row.largest, row.fresh_largest, f"{row.own:.2f}")
        print_row(row.name, *leaves, *calls, *cohesions, *sizes)

    def totals(self) -> None:
        """Print the sums over all steps after the first, which builds everything."""
        rows = self.rows[1:]
        calls, least = sum(row.calls for row in rows), sum(row.least for row in rows)
        scratch, cache = sum(row.scratch for row in rows), sum(row.cache for row in rows)
        exact = sum(row.plan == row.calls for row in rows if row.exact)
        print(f"\ncalls {calls}, {calls / max(least, 1):.3f} times the least possible ({least})")
        if scratch:
            print(f"{calls / scratch:.2%} of rebuilding each state from scratch ({scratch})")
            print(f"{calls / max(cache, 1):.1%} of a cache with clusters fitted anew ({cache})")
        print(f"plans that foretold the calls: {exact} of {sum(row.exact for row in rows)}")

    def shapes(self) -> None:
        """Print the quality of both sets of trees after all steps."""
        for name, trees in (("ours", self.ours), ("from scratch", self.theirs)):
            if trees:
                nodes = [n for tree in trees.values() for n in tree.nodes() if n.children]
                ratio = np.mean([node.quality["compression_ratio"] for node in nodes])
                size = np.mean([len(node.children) for node in nodes])
                print(
                    f"{name}: {len(nodes)} summaries, cohesion {_shown(cohesions(trees))}, "
                    f"{size:.2f} children, compression {ratio:.3f}, largest {_largest(trees)}"
                )

    def evidence(self, source: Path) -> None:
        """Print the share of the questions' evidence that the contexts of both trees contain."""
        there = {d.id for found in self._documents.values() for d in found}
        asked = load_dataset(source).questions if source.suffix == ".jsonl" else ()
        questions = [q for q in asked if q.evidence and q.document in there]
        if not questions:
            return
        query = Query(budget_tokens=EVIDENCE_TOKENS, top_k=1000)
        for name, trees in (("ours", self.ours), ("from scratch", self.theirs)):
            if trees:
                retriever = Retriever.from_trees(list(trees.values()), self._ours)
                found = retriever.search_many([question.text for question in questions], query)
                shares = [
                    evidence_recall(question.evidence, result.context)
                    for question, result in zip(questions, found, strict=True)
                ]
                print(f"{name}: evidence {np.mean(shares):.3f} over {len(questions)} questions")


def _stored(trees: Mapping[str, Tree]) -> NodeCache:
    """Make a cache of what a store contains: the published trees, nothing that was deleted."""
    cache = NodeCache()
    for tree in trees.values():
        cache.keep_vectors(tree.vectors())
        cache.keep_texts({node.content_key: node.text for node in tree.nodes() if node.layer})
    return cache


def cohesions(trees: Mapping[str, Tree]) -> list[float]:
    """Compute the mean cohesion of the clusters over each layer, weighted by membership."""
    sums: list[Any] = []
    for tree in trees.values():
        for number, (below, above) in enumerate(pairwise(tree.layers)):
            row_of = {node.id: row for row, node in enumerate(below.nodes)}
            members = [[row_of[c] for c in node.children] for node in above.nodes]
            n = sum(map(len, members))
            sums += [np.zeros(2)] * (number + 1 - len(sums))
            sums[number] = sums[number] + (n * mean_cohesion(below.vectors, members), n)
    return [total / n for total, n in sums]


def _shown(values: Sequence[float]) -> str:
    return " ".join(f"{value:.3f}" for value in values)


def _n_new(tree: Tree, before: Tree | None) -> int:
    """Leaves that were not there before."""
    known = {node.id for node in before.layers[0].nodes} if before else set()
    return sum(node.id not in known for node in tree.layers[0].nodes)


def _least(tree: Tree, before: Tree | None) -> int:
    """Summaries that have a new leaf below them, or lost one."""
    old = before.layers if before else ()
    known = {node.id for node in old[0].nodes} if old else set()
    fresh = {node.id for node in tree.layers[0].nodes} - known
    gone = known - {node.id for node in tree.layers[0].nodes}
    count = 0
    for number, layer in enumerate(tree.layers[1:], 1):
        was = old[number].nodes if number < len(old) else ()
        fresh = {node.id for node in layer.nodes if not fresh.isdisjoint(node.children)}
        gone = {node.id for node in was if not gone.isdisjoint(node.children)}
        lost = {node.slot for node in was if node.id in gone}
        count += sum(node.id in fresh or node.slot in lost for node in layer.nodes)
    return count


def _largest(trees: Mapping[str, Tree]) -> int:
    return max((len(n.children) for tree in trees.values() for n in tree.nodes()), default=0)


def _prompt_tokens(tree: Tree) -> int:
    return sum(tree.node(child).n_tokens for node in tree.nodes() for child in node.children)


def plot(rows: Sequence[Row], target: Path) -> None:
    """Calls by step, on a logarithmic scale."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.6), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    steps = range(1, len(rows))
    lines = (
        ("from scratch", "#8a8f98", [row.scratch for row in rows[1:]]),
        ("cache, clusters fitted anew", "#e0862e", [row.cache for row in rows[1:]]),
        ("this", "#5b7fe5", [row.calls for row in rows[1:]]),
        ("least possible", "#222222", [row.least for row in rows[1:]]),
    )
    for label, color, values in lines:
        style = ":" if label == "least possible" else "-"
        axes.plot(steps, np.maximum(values, 0.5), style, color=color, label=label, marker=".")
    axes.set_yscale("log")
    axes.set_xlabel("state")
    axes.set_ylabel("summary calls")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(target)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["states", "edits", "rewrites"])
    parser.add_argument("source", type=Path)
    parser.add_argument("--group-by", choices=["document", "corpus"], default="corpus")
    parser.add_argument("--documents", type=int, default=1, help="of one tree: so many documents")
    parser.add_argument("--skip", type=int, default=0, help="of one tree: after the first so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-fresh", action="store_true", help="leave out both baselines")
    parser.add_argument("--plot", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
