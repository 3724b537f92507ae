"""The main job on the embedded default: build, check, publish and query the handbook.

python examples/demo.py [--home DIR]
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from raptor_assets.cli.progress import open_build_progress
from raptor_assets.home.folder import Home
from raptor_assets.local.build import build
from raptor_assets.local.status import HomeStatus, read_status
from raptor_assets.shown.markdown import shorten
from raptor_core import Components, Query, Retriever, Settings, open_store
from raptor_core.models.reading.reader import Passage

EXAMPLES = Path(__file__).resolve().parent
BUDGET_TOKENS = 800
N_SHOWN = 3
"""Number of best passages that are printed for a question about a detail."""
QUESTIONS = (
    "Why did the generator G1 stop in the night of the gale?",
    "What are the main problems of the cold store?",
    "What is this handbook about?",
)
"""Questions about a detail, a part of the text, and all of it."""


def main() -> None:
    """Build, show and query the trees."""
    parser = argparse.ArgumentParser(description="Build and query trees over the handbook.")
    parser.add_argument("--home", type=Path, default=Path(".raptor"))
    home = Home.at(parser.parse_args().home)
    home.create(sources=[str(EXAMPLES / "handbook")], group_by="folder")
    settings = home.load_settings()
    print("Building one tree per folder of examples/handbook through Dagster ...", flush=True)
    with open_build_progress(visible=True) as progress:
        report = build(home, settings, on_plan=progress.show_plan, on_progress=progress.show_step)
    print(f"{len(report.built)} built, {len(report.unchanged)} unchanged\n")
    for name, failure in report.failed.items():
        print(f"failed: {name} at {failure.asset}: {failure.reason}")
    print_trees(read_status(home, settings))
    print_answers(home, settings)
    print("Look at it: make ui, then open http://127.0.0.1:3000/asset-groups")
    print("Ask it:     .venv/bin/raptor query 'how long may the vault go without power?'")
    if not report.succeeded:
        raise SystemExit(1)


def print_trees(status: HomeStatus) -> None:
    """Print the shapes of the trees, and the results of their checks."""
    for tree in status.trees:
        sizes = " → ".join(str(size) for size in tree.manifest.layer_sizes)
        n_documents = len(tree.manifest.documents)
        print(f"tree {tree.manifest.tree}: {n_documents} documents, {sizes} nodes")
        passed = sum(check.passed for check in tree.checks)
        print(f"  checks: {passed} of {len(tree.checks)} passed")
        for check in tree.checks:
            if not check.passed:
                print(f"  {check.severity}: {check.name} of {check.asset}: {check.description}")
    print()


def print_answers(home: Home, settings: Settings) -> None:
    """Ask for a detail, a part and a theme; print the nodes that answer, layer by layer."""
    components = Components(settings)
    with open_store(settings.store, home.embedded_store_path, components.store_identity) as store:
        retriever = Retriever(store, components.embedder)
        retrievals = retriever.search_many(QUESTIONS, Query(budget_tokens=BUDGET_TOKENS))
    for retrieval in retrievals:
        print(f"{retrieval.kind} question: {retrieval.question}")
        print(f"  it {retrieval.reason}")
        best = {hit.node.id for hit in retrieval.hits_by_score[:N_SHOWN]}
        shown = [hit.node for hit in retrieval.hits if hit.node.id in best]
        for node in shown if retrieval.kind == "detail" else [h.node for h in retrieval.hits]:
            place = Passage.from_node(node).place
            print(f"  layer {node.layer}: {shorten(node.text)}\n      {place}")
        layers = sorted(Counter(hit.node.layer for hit in retrieval.hits).items())
        counts = ", ".join(f"{n} of layer {layer}" for layer, n in layers)
        print(f"  from {counts}: {retrieval.n_tokens} tokens\n")


if __name__ == "__main__":
    main()
