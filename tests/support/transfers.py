"""Trees in which every field holds something, their stores and exports."""

from dataclasses import replace

from support.stores import keyed_vectors, make_manifest, make_node, make_tree

from raptor_core.nodes import Fit
from raptor_core.transfer.exporting import export_trees, finish_export
from raptor_core.transfer.values import ExportFolder
from raptor_core.tree.publish import build_id

ODD = "häfen/../../ % '\" 水.md"


def rich_tree(tree):
    """A tree of which every field holds something."""
    nodes = make_tree(tree, 8, "rich")
    leaf = make_node(
        tree,
        text="Grüße, 世界 🌊",
        position=90,
        section=("A", "B > C"),
        source="file:///s.md",
        context="A",
        start=3,
        end=9,
        metadata={"year": 1953, "share": 0.1, "kept": True, "who": "Tom", "one": 1.0},
        quality={"compression_ratio": 1 / 3},
        slot="s",
    )
    return [leaf, *nodes]


def manifest_of(nodes, tree, **values):
    fits = (Fit("clusterer", 3, 0.75, 1 / 3, "first"),)
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
    return folder, finish_export(folder, store, export_trees(store, folder))
