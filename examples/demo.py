"""The main job on the embedded default: build, check, publish and query the handbook.

python examples/demo.py [--home DIR]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from raptor_assets.cli.progress import build_progress
from raptor_assets.project.home import Home
from raptor_assets.standalone.execute import build
from raptor_assets.standalone.status import HomeStatus, read_status
from raptor_assets.tables_markdown import shorten
from raptor_core import Components, Query, Retriever, Settings, open_store
from raptor_core.models.reading.reader import Passage, best_sentences

EXAMPLES = Path(__file__).resolve().parent
BUDGET_TOKENS = 800


def main() -> None:
    """Build, show, query."""
    parser = argparse.ArgumentParser(description="Build and query trees over the handbook.")
    parser.add_argument("--home", type=Path, default=Path(".raptor"))
    home = Home.at(parser.parse_args().home)
    home.create(sources=[str(EXAMPLES / "handbook")], group_by="folder")
    settings = home.load_settings()
    print("Building one tree per folder of examples/handbook through Dagster ...", flush=True)
    with build_progress(visible=True) as progress:
        report = build(home, settings, on_plan=progress.plan, on_progress=progress.step)
    print(f"{len(report.built)} built, {len(report.changes.unchanged)} unchanged\n")
    for name, failure in report.failed.items():
        print(f"failed: {name} at {failure.asset}: {failure.reason}")
    print_trees(read_status(home, settings))
    print_answers(home, settings)
    print("Look at it: make ui, then open http://127.0.0.1:3000/asset-groups")
    print("Ask it:     .venv/bin/raptor query 'how long may the vault go without power?'")
    if not report.succeeded:
        raise SystemExit(1)


def print_trees(status: HomeStatus) -> None:
    """Shapes of the trees, and what their checks said."""
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
    """One local, one thematic and one multi-document question, answered by quotes."""
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    chosen = [next(row for row in rows if row["kind"] == k) for k in ("local", "thematic", "multi")]
    components = Components(settings)
    with open_store(settings.store, home.qdrant, components.store_identity) as store:
        retriever = Retriever(store, components.embedder)
        questions = [row["question"] for row in chosen]
        found = retriever.search_many(questions, Query(budget_tokens=BUDGET_TOKENS))
    for row, retrieval in zip(chosen, found, strict=True):
        passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
        print(f"{row['kind']} question: {row['question']}")
        for quote in best_sentences(row["question"], passages, components.embedder):
            place = quote.passage.place
            if quote.span:
                place = f"{quote.passage.documents[0]}[{quote.span[0]}:{quote.span[1]}]"
            print(f"  “{shorten(quote.text)}”\n      {place}")
        layers = sorted({hit.node.layer for hit in retrieval.hits})
        print(
            f"  from {len(retrieval.hits)} nodes of layers {layers}, {retrieval.n_tokens} tokens\n"
        )


if __name__ == "__main__":
    main()
