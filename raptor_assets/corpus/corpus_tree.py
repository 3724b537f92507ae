"""The corpus tree of a home: a second corpus in the home's folder ``corpus_tree``.

Its source are the top nodes of the published trees, kept as rows like those of an upstream asset.
They are read again when other trees are published below.
"""

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg

from raptor_assets.assets.names import CorpusNames
from raptor_assets.chain.runs import unfinished_runs
from raptor_assets.corpus.upstream import keep_rows
from raptor_assets.home.access import CorpusAccess
from raptor_core.disk import replace_file
from raptor_core.documents import Document
from raptor_core.identity import digest
from raptor_core.tree.corpus_tree import corpus_tree_settings, published_tops, top_documents

BELOW_UNDER_WAY = "trees are being built; the tree above them comes after"


def corpus_tree_access(below: CorpusAccess) -> CorpusAccess:
    """Return the access of the corpus tree of a corpus."""
    settings, home = corpus_tree_settings(below.settings), below.home.corpus_tree
    components = below.components().above(settings)
    above = CorpusAccess(settings, home, components=components, names=below.names.corpus_tree())
    above.below = below
    return above


def refresh(above: CorpusAccess) -> int:
    """Keep the top nodes below as rows if the store changed, and return the number of trees."""
    below = above.below
    assert below is not None  # noqa: S101 - only the corpus tree has access below it
    file = above.home.followed / "stamp.json"
    state: Mapping[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    stamp = _stamp(below)
    if stamp != state.get("stamp"):
        documents = documents_above(below)
        n_trees = len({document.source for document in documents})
        enough = n_trees >= below.settings.corpus_tree.min_trees
        rows = [{"id": d.id, "text": d.text, "title": d.title, **d.metadata} for d in documents]
        keep_rows(above.home.followed, rows if enough else ())
        state = {"stamp": stamp, "n_trees": n_trees}
        replace_file(file, json.dumps(state).encode())
    return int(state["n_trees"])


def _stamp(below: CorpusAccess) -> str:
    """Return the digest of the trees that are published below."""
    least = str(below.settings.corpus_tree.min_trees)
    if not below.store.exists():
        return digest(least)
    with below.store.open_existing() as opened:
        return digest(least, *(f"{mark.tree}\0{mark.build_id}" for mark in opened.marks()))


def documents_above(below: CorpusAccess) -> list[Document]:
    """Return the top nodes of the published trees as documents of the corpus tree."""
    if not below.store.exists():
        return []
    with below.store.open_existing() as store:
        return top_documents(published_tops(store))


def prepare(above: CorpusAccess, instance: dg.DagsterInstance) -> str:
    """Refresh the source of a corpus tree, and return why it has to wait, "" if it has not."""
    below = above.below
    if below is None:
        return ""
    if unfinished_runs(instance, below.names):
        return BELOW_UNDER_WAY
    refresh(above)
    return ""


def corpus_tree_source_spec(below: CorpusNames) -> dg.AssetSpec:
    """Return the spec of the top nodes, which link a corpus to its corpus tree in the lineage."""
    return dg.AssetSpec(
        below.corpus_tree().source.key,
        deps=[below.tree.key],
        group_name=below.corpus_tree().corpus,
        kinds={"qdrant"},
        description="The top nodes of all published trees, the source of the corpus tree.",
    )
