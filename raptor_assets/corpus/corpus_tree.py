"""The corpus tree of a home: a second corpus in the home's folder ``corpus_tree``.

Its source is the top nodes of the published trees, kept as rows like those of an upstream asset.
They are read again whenever other trees have been published below.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from raptor_assets.assets.names import CorpusNames
from raptor_assets.chain.runs import unfinished_runs
from raptor_assets.corpus.upstream import replace_source_rows
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.current_state import STAMP, digest_of_published
from raptor_core.disk import replace_file
from raptor_core.documents import Document, Partitions
from raptor_core.tree.corpus_tree import published_tops, readers_of_top_documents, top_documents

BELOW_UNDER_WAY = "trees are being built; the tree above them comes after"


def refresh_top_rows(above: CorpusAccess) -> int:
    """Update the rows of top nodes if other trees have been published below.

    Returns:
        Number of trees below the largest corpus tree; 0 if none has enough.
    """
    below = above.corpus_below
    assert below is not None  # noqa: S101 - only the corpus tree has access below it
    file = above.home.upstream_folder / STAMP
    state: Mapping[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    stamp = _digest_of_published(below)
    if stamp != state.get("stamp"):
        trees = group_top_documents(above, read_top_documents(below))
        replace_source_rows(
            above.home.upstream_folder, [_top_row(d) for of_tree in trees.values() for d in of_tree]
        )
        sizes = [len({document.source for document in of_tree}) for of_tree in trees.values()]
        state = {"stamp": stamp, "n_trees": max(sizes, default=0)}
        replace_file(file, json.dumps(state).encode())
    return int(state["n_trees"])


def group_top_documents(
    above: CorpusAccess, tops: Sequence[Document]
) -> dict[str, Sequence[Document]]:
    """Return the top documents of each corpus tree that has enough trees below it."""
    assert above.corpus_below is not None  # noqa: S101 - only the corpus tree has access below it
    least = above.corpus_below.settings.corpus_tree.min_trees
    return {
        name: members
        for trees in Partitions(tops, above.settings.grouping).values()
        for name, members in trees.items()
        if len({document.source for document in members}) >= least
    }


def _top_row(top: Document) -> dict[str, Any]:
    row = {"id": top.id, "text": top.text, "title": top.title, **top.metadata}
    return {**row, "readers": list(top.readers)} if top.readers else row


def _digest_of_published(below: CorpusAccess) -> str:
    """Return the digest of the trees that are published below."""
    if not below.store.exists():
        return digest_of_published(below, ())
    with below.store.open_existing() as opened:
        return digest_of_published(below, opened.short_manifests())


def read_top_documents(below: CorpusAccess) -> list[Document]:
    """Return the top nodes of the published trees as documents of the corpus tree."""
    if not below.store.exists():
        return []
    with below.store.open_existing() as store:
        return top_documents(published_tops(store), readers_of_top_documents(store.manifests()))


def prepare_corpus_tree(above: CorpusAccess, instance: dg.DagsterInstance) -> str:
    """Refresh the source of a corpus tree; return why it has to wait, or ""."""
    below = above.corpus_below
    if below is None:
        return ""
    if unfinished_runs(instance, below.names):
        return BELOW_UNDER_WAY
    refresh_top_rows(above)
    return ""


def build_top_nodes_spec(below: CorpusNames) -> dg.AssetSpec:
    """Return the spec of the top nodes, which link a corpus to its corpus tree in the lineage."""
    return dg.AssetSpec(
        below.corpus_tree().source.key,
        deps=[below.tree.key],
        group_name=below.corpus_tree().corpus,
        kinds={"qdrant"},
        description="The top nodes of all published trees, the source of the corpus tree.",
    )
