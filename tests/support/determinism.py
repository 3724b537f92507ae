"""Trees of the handbook in the company that the arguments name; writes a digest of each.

Called as ``python -m support.determinism EMBEDDER WAY``; ``tests`` must be on the path. EMBEDDER
is "hashing" or "default"; WAY is "alone", "together" or "backwards".
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.hashing import HashingEmbedder

from raptor_core.documents import load_documents
from raptor_core.documents.base import Document
from raptor_core.identity import digest
from raptor_core.nodes import Tree
from raptor_core.settings import Settings
from raptor_core.tree.build import build_trees
from raptor_core.tree.components import Components

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
FOLDER = HANDBOOK / "gauges"
SMALL = {"chunking": {"max_tokens": 40}, "tree": {"top_nodes": 2}}
"""So that trees of short documents have several layers."""

Documents = Mapping[str, Sequence[Document]]


def handbook(n: int = 4) -> dict[str, list[Document]]:
    """Return a tree for each of ``n`` documents of the handbook, and one of all of them."""
    found = load_documents(FOLDER).documents[:n]
    return {**{document.id: [document] for document in found}, "corpus": list(found)}


def make_components(embedder: str) -> Components:
    settings = Settings.model_validate(SMALL)
    return Components(settings, embedder=HashingEmbedder() if embedder == "hashing" else None)


def content(tree: Tree) -> str:
    """All of a tree: each node with all its fields, every bit of its vector, and the fits."""
    nodes = [repr(node) for node in tree.nodes()]
    vectors = [layer.vectors.tobytes().hex() for layer in tree.layers]
    return digest(tree.name, repr(tree.end), repr(tree.fits), *nodes, *vectors)


def contents(documents: Documents, way: str, components: Components) -> dict[str, str]:
    """Content of every tree, built one by one, together, or together in the other order."""
    if way == "alone":
        parts = [{name: found} for name, found in documents.items()]
    else:
        step = -1 if way == "backwards" else 1
        parts = [{name: documents[name][::step] for name in list(documents)[::step]}]
    return {
        name: content(tree)
        for part in parts
        for name, tree in build_trees(part, components=components).items()
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(contents(handbook(), sys.argv[2], make_components(sys.argv[1]))))
