"""Summary calls of rebuilds, against the least possible, from scratch, and a cache with refits.

    python benchmarks/incremental.py states fastapi-docs/ --group-by corpus --plot calls.png
    python benchmarks/incremental.py edits narrativeqa.jsonl --documents 1

``states`` takes a folder whose sub-folders, in order of their names, are successive states of one
source. ``edits`` takes documents and changes paragraphs at random: one, 1 %, 5 %, then 20 rounds
of 2 %. Of every step, over all its trees:

    calls      summaries that the rebuild made
    plan       the same as ``plan_rebuild`` foretold it
    least      distinct ancestors of changed leaves
    cache      summaries with clusters fitted anew and a cache of all earlier texts (baseline)
    scratch    summaries of a build from scratch (baseline)
    tokens     prompt tokens of our calls, and the share of those of a build from scratch
    cohesion   mean cosine of a node to its cluster's centre, ours and from scratch
    largest    members of the largest cluster, ours and from scratch
    own        seconds of the rebuild beside embedder and summarizer

The last lines give compression and cluster size of both trees after all steps, and, where the
documents have questions with evidence, the share of the evidence that a context of 1,000 tokens
holds.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from measuring import print_head, print_row

from raptor_core import Components, Document, Query, Retriever, Settings, Tree, load_documents
from raptor_core.documents import Partitions
from raptor_core.evaluation.datasets import load_dataset
from raptor_core.evaluation.measures import evidence_recall
from raptor_core.rebuild import plan_rebuild
from raptor_core.settings.models import GroupingSettings
from raptor_core.tree.anchoring import cohesion
from raptor_core.tree.build import build_trees
from raptor_core.tree.cache import MemoryCache

Grouped = Mapping[str, Sequence[Document]]
EVIDENCE_TOKENS = 1000
ROUNDS = 20
HEAD = (
    *("step", "calls", "plan", "least", "cache", "scratch", "tokens", "share"),
    *("cohesion", "fresh", "largest", "fresh", "own"),
)


def main() -> None:
    arguments = _arguments()
    components = Components(Settings())
    if arguments.what == "states":
        steps = states(arguments.source, arguments.group_by)
    else:
        steps = edits(arguments.source, arguments.skip, arguments.documents, arguments.seed)
    run = Run(components, fresh=not arguments.no_fresh)
    print_head(*HEAD)
    for name, documents in steps:
        run.step(name, documents)
    run.totals()
    run.shapes()
    run.evidence(arguments.source)
    if arguments.plot:
        plot(run.rows, arguments.plot)


def states(source: Path, group_by: Any) -> Iterator[tuple[str, Grouped]]:
    """Successive states of a folder, by tree."""
    for folder in sorted(path for path in source.iterdir() if path.is_dir()):
        found = load_documents(folder).documents
        partitions = Partitions(found, GroupingSettings(by=group_by))
        yield folder.name, {tree: docs for p in partitions.values() for tree, docs in p.items()}


def edits(source: Path, skip: int, n_documents: int, seed: int) -> Iterator[tuple[str, Grouped]]:
    """A corpus as one tree, then with more and more of its paragraphs changed."""
    rng = random.Random(seed)
    documents = list(load_documents(source).documents)[skip : skip + n_documents]
    yield "0", {"corpus": documents}
    plan = [("one", 0.0), ("1 %", 0.01), ("5 %", 0.05)]
    plan += [(f"2 %, {number}", 0.02) for number in range(1, ROUNDS + 1)]
    for name, share in plan:
        documents = edited(documents, share, rng)
        yield name, {"corpus": documents}


def edited(documents: Sequence[Document], share: float, rng: random.Random) -> list[Document]:
    """The documents with a share of their paragraphs changed, one at the least.

    Half of them get a sentence from elsewhere, a quarter goes, a quarter is put in elsewhere.
    """
    texts = [document.text.split("\n\n") for document in documents]
    places = [
        (d, p) for d, found in enumerate(texts) for p, text in enumerate(found) if len(text) > 80
    ]
    for d, p in sorted(rng.sample(places, max(1, round(share * len(places)))), reverse=True):
        from_d, from_p = rng.choice(places)
        other = texts[from_d][min(from_p, len(texts[from_d]) - 1)]
        kind = rng.random()
        if kind < 0.5 or share == 0.0:
            sentences = texts[d][p].split(". ")
            sentences[rng.randrange(len(sentences))] = other.split(". ")[0]
            texts[d][p] = ". ".join(sentences)
        elif kind < 0.75:
            del texts[d][p]
        else:
            texts[d].insert(p, other)
    return [
        Document(document.id, "\n\n".join(found), title=document.title)
        for document, found in zip(documents, texts, strict=True)
    ]


@dataclass
class Row:
    """One step."""

    name: str
    calls: int
    plan: int
    least: int
    cache: int
    scratch: int
    tokens: int
    scratch_tokens: int
    cohesion: float
    fresh_cohesion: float
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
    """An embedder that embeds no text twice, so that a long comparison ends; counts seconds."""

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
    """All steps: our trees, and beside them trees that are fitted anew."""

    base: Components
    fresh: bool = True
    rows: list[Row] = field(default_factory=list)
    ours: dict[str, Tree] = field(default_factory=dict)
    theirs: dict[str, Tree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._embedder = Remembering(self.base.embedder)
        self._ours, self._counted = self._components()
        theirs, self._their_counted = self._components()
        self._theirs = theirs.with_cache(MemoryCache())
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
        known, components = _stored(self.ours), self._ours.with_cache(MemoryCache())
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
            calls=counted.calls - start[0],
            plan=plan.summaries.calls,
            least=plan.lower_bound,
            cache=refit,
            scratch=sum(tree.n_nodes - len(tree.layers[0].nodes) for tree in self.theirs.values()),
            tokens=counted.tokens - start[1],
            scratch_tokens=sum(map(_prompt_tokens, self.theirs.values())),
            cohesion=_cohesion(self.ours),
            fresh_cohesion=_cohesion(self.theirs),
            largest=_largest(self.ours),
            fresh_largest=_largest(self.theirs),
            own=seconds,
            exact=plan.exact,
        )
        self._documents = dict(documents)
        self.rows.append(row)
        self._print(row)

    def _refit(self, changed: Grouped) -> int:
        """Fit the changed trees anew, with a cache of all texts; the calls that this takes."""
        before = self._their_counted.calls
        if changed and self.fresh:
            self.theirs.update(build_trees(changed, components=self._theirs))
        return self._their_counted.calls - before

    def _print(self, row: Row) -> None:
        share = f"{row.tokens / row.scratch_tokens:.1%}" if row.scratch_tokens else "-"
        plan = str(row.plan) if row.exact else f"({row.plan})"
        cohesions = (f"{row.cohesion:.4f}", f"{row.fresh_cohesion:.4f}")
        calls = (row.calls, plan, row.least, row.cache, row.scratch, row.tokens, share)
        sizes = (row.largest, row.fresh_largest, f"{row.own:.2f}")
        print_row(row.name, *calls, *cohesions, *sizes)

    def totals(self) -> None:
        """Sums over all steps after the first, which builds everything."""
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
        """Both sets of trees after all steps."""
        for name, trees in (("ours", self.ours), ("from scratch", self.theirs)):
            if trees:
                nodes = [n for tree in trees.values() for n in tree.nodes() if n.children]
                ratio = np.mean([node.quality["compression_ratio"] for node in nodes])
                size = np.mean([len(node.children) for node in nodes])
                print(
                    f"{name}: {len(nodes)} summaries, cohesion {_cohesion(trees):.4f}, "
                    f"{size:.2f} children, compression {ratio:.3f}, largest {_largest(trees)}"
                )

    def evidence(self, source: Path) -> None:
        """Share of the questions' evidence that the contexts of both trees hold."""
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


def _stored(trees: Mapping[str, Tree]) -> MemoryCache:
    """What a store holds: the published trees, and nothing of what was deleted."""
    cache = MemoryCache()
    for tree in trees.values():
        cache.keep_vectors(tree.vectors())
        cache.keep_texts({node.content_key: node.text for node in tree.nodes() if node.layer})
    return cache


def _cohesion(trees: Mapping[str, Tree]) -> float:
    """Of the leaves' clusters, by membership."""
    total, count = 0.0, 0
    for tree in trees.values():
        if len(tree.layers) > 1:
            row_of = {node.id: row for row, node in enumerate(tree.layers[0].nodes)}
            members = [[row_of[c] for c in node.children] for node in tree.layers[1].nodes]
            n = sum(map(len, members))
            total += n * cohesion(tree.layers[0].vectors, members)
            count += n
    return total / max(count, 1)


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
    parser.add_argument("what", choices=["states", "edits"])
    parser.add_argument("source", type=Path)
    parser.add_argument("--group-by", choices=["document", "corpus"], default="corpus")
    parser.add_argument("--documents", type=int, default=1, help="edits: so many documents")
    parser.add_argument("--skip", type=int, default=0, help="edits: after the first so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-fresh", action="store_true", help="leave out both baselines")
    parser.add_argument("--plot", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
