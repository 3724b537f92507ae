"""Trees in which every field holds something, their stores and exports."""

from dataclasses import replace

from support.stores import IDENTITY, keyed_vectors, make_manifest, make_node

from raptor_core.identity import (
    embedding_key,
    leaf_content_key,
    leaf_id,
    summary_content_key,
    summary_id,
)
from raptor_core.nodes import ClusterFit
from raptor_core.transfer.exports import (
    ExportFolder,
    export_trees,
    finish_export,
    read_editions,
)
from raptor_core.tree.publish import build_id

ODD = "häfen/../../ % '\" 水.md"


def make_leaf(tree, text, document, position=0, **values):
    """A leaf with the ids and keys that a build gives it."""
    key = leaf_content_key(text, 0, "chunking")
    given = {
        "id": leaf_id(tree, document, key),
        "content_key": key,
        "documents": (document,),
        "start": 10 * position,
        "end": 10 * position + 9,
    }
    node = make_node(tree, 0, text, position, **(given | values))
    read = embedding_key(node.embedding_text, IDENTITY.embedder_fingerprint)
    return replace(node, embedding_key=read)


def make_summary(tree, text, children, occurrence=0, **values):
    """A summary with the ids and keys that a build gives it."""
    key = summary_content_key([child.content_key for child in children], "summarizer")
    layer = children[0].layer + 1
    return make_node(
        tree,
        layer,
        text,
        children[0].position,
        id=summary_id(tree, layer, key, occurrence),
        content_key=key,
        documents=tuple(sorted({name for child in children for name in child.documents})),
        children=tuple(child.id for child in children),
        fingerprint="summarizer",
        embedding_key=embedding_key(text, IDENTITY.embedder_fingerprint),
        **values,
    )


def make_tree(tree="t", n=12, word="words"):
    """``n`` leaves of three documents and one summary over each four, as a build makes them."""
    leaves = [make_leaf(tree, f"{word} leaf {i} of {tree}", f"d{i % 3}.md", i) for i in range(n)]
    summaries = [
        make_summary(tree, f"{word} summary {at} of {tree}", leaves[at : at + 4])
        for at in range(0, n, 4)
    ]
    return leaves + summaries


def rich_tree(tree):
    """A tree of which every field holds something."""
    leaves = make_tree(tree, 8, "rich")[:8]
    leaf = make_leaf(
        tree,
        "Grüße, 世界 🌊",
        "d.md",
        position=90,
        section=("A", "B > C"),
        source="file:///s.md",
        context="A",
        metadata={"year": 1953, "share": 0.1, "kept": True, "who": "Tom", "one": 1.0},
        paragraphs=((3, 4), (8, 1)),
    )
    more = {"slot": "s", "name": "Greetings", "key_terms": ("a", "b")}
    quality = {"compression_ratio": 1 / 3}
    first = make_summary(tree, "rich summary", [leaf, *leaves[:4]], quality=quality, **more)
    return [leaf, *leaves, first, make_summary(tree, "another", leaves[4:])]


def manifest_of(nodes, tree, **values):
    fits = (ClusterFit("clusterer", 3, 0.75, 1 / 3, "first"),)
    made = replace(make_manifest(nodes, tree), build_id=build_id(nodes), fits=fits)
    return replace(made, **values)


def publish(store, nodes, tree, **values):
    store.publish(manifest_of(nodes, tree, **values), nodes, keyed_vectors(nodes))


def state(store):
    """All that a reader can see."""
    nodes = store.nodes()
    vectors = store.vectors(node.embedding_key for node in nodes)
    return store.manifests(), nodes, {key: row.tobytes() for key, row in vectors.items()}


def exported(store, path):
    folder = ExportFolder(str(path))
    return folder, finish_export(folder, store.identity, export_trees(store, folder))


def import_trees(store, folder, export):
    """Publish the trees of an export, and return the counts of each."""
    with store.publish_together() as batch:
        parts = [batch.publish(editions) for editions in read_editions(folder, export)]
    return [counts for part in parts for counts in part]
