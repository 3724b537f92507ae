"""The corpus tree in a home: a corpus of its own in the home's folder ``corpus_tree``.

Its source are the top nodes of what is published. Each look compares the stamp of the store below
with the last one. Where it differs, the nodes are read again and kept as rows, in the place where a
corpus that follows an asset keeps its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.names import CorpusNames
from raptor_assets.project.followed import keep_rows
from raptor_assets.project.resources import Resources
from raptor_assets.project.runs import partitions_under_way
from raptor_core.disk import replace_file
from raptor_core.documents import Document
from raptor_core.identity import digest
from raptor_core.store.folder import store_stamp
from raptor_core.tree.corpus_tree import corpus_tree_settings, published_tops, top_documents

BELOW_UNDER_WAY = "trees are being built; the tree above them comes after"


def corpus_tree_resources(below: Resources) -> Resources:
    """The resources of the corpus tree of a corpus."""
    settings = corpus_tree_settings(below.settings)
    components = below.components().above(settings)
    names = below.names.corpus_tree()
    made = Resources(settings, below.home.corpus_tree, components=components, names=names)
    made.below = below
    return made


def refresh(above: Resources) -> int:
    """Keep the top nodes below as the rows of the source, where anything was published.

    Number of trees that there are.

    Raises:
        StoreError: the store below is locked, damaged or unreachable.
        SourceError: the home cannot be written.
    """
    below = above.below
    assert below is not None  # noqa: S101 - only the corpus tree has resources below it
    file = above.home.followed / "stamp.json"
    before: Mapping[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    stamp = _stamp(below)
    if stamp != before.get("stamp"):
        documents = documents_above(below)
        n_trees = len({document.source for document in documents})
        enough = n_trees >= below.settings.corpus_tree.min_trees
        rows = [
            {"id": one.id, "text": one.text, "title": one.title, **one.metadata}
            for one in documents
        ]
        keep_rows(above.home.followed, rows if enough else ())
        before = {"stamp": stamp, "n_trees": n_trees}
        replace_file(file, json.dumps(before).encode())
    return int(before["n_trees"])


def _stamp(below: Resources) -> str:
    store = below.settings.store
    least = str(below.settings.corpus_tree.min_trees)
    if store.kind != "server":
        return digest(least, store_stamp(below.home.qdrant, store.corpus))
    if not below.store.exists():
        return digest(least)
    with below.store.open_existing() as opened:
        return digest(least, *(f"{mark.tree}\0{mark.build_id}" for mark in opened.marks()))


def documents_above(below: Resources) -> list[Document]:
    """What the corpus tree is made of: the top nodes of what is published."""
    if not below.store.exists():
        return []
    with below.store.open_existing() as store:
        return top_documents(published_tops(store))


def prepare(above: Resources, instance: dg.DagsterInstance) -> str:
    """Make the source ready for a look; why it has to wait, or nothing."""
    below = above.below
    if below is None:
        return ""
    there = instance.get_dynamic_partitions(below.names.partitions)
    if partitions_under_way(instance, there, below.names) is not None:
        return BELOW_UNDER_WAY
    refresh(above)
    return ""


def corpus_tree_source_spec(below: CorpusNames) -> dg.AssetSpec:
    """The top nodes of a corpus, between its trees and the tree above them in the lineage."""
    return dg.AssetSpec(
        keys.shown(below.corpus_tree(), keys.of(names.SOURCE)),
        deps=[keys.shown(below, keys.of(names.TREE))],
        group_name=below.corpus_tree().corpus,
        kinds={"qdrant"},
        description="The top nodes of all published trees, which the tree above them is made of.",
    )
