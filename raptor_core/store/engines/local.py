"""qdrant-client's local mode: in memory, or in a directory (SQLite) where Edge has no wheel.

It searches exactly and in Python: made for some thousands of points. Its Dot distance is used for
the unit vectors that embedders yield, because under Cosine it divides by the norm once more and
changes last bits, and a rebuild from stored vectors must see the very same ones. It has no
payload indexes.
"""

from __future__ import annotations

from pathlib import Path

from raptor_core.store.engines.base import DENSE, LEXICAL
from raptor_core.store.engines.qdrant import ClientEngine, Place

COLLECTION = "nodes"
_REMEDY = "free space if the disk is full; if it is damaged, move it away and build again"


def open_local(path: Path | None, n_dims: int | None = None) -> ClientEngine:
    """The collection in the directory ``path``, made when ``n_dims`` is given.

    Without a path it is one that ends with this object.
    """
    from qdrant_client import QdrantClient, models

    place = Place("memory" if path is None else str(path), _REMEDY)
    with place.errors():
        client = QdrantClient(":memory:") if path is None else QdrantClient(path=str(path))
        if n_dims is not None:
            dense = models.VectorParams(size=n_dims, distance=models.Distance.DOT)
            lexical = models.SparseVectorParams(modifier=models.Modifier.IDF)
            client.create_collection(
                COLLECTION,
                vectors_config={DENSE: dense},
                sparse_vectors_config={LEXICAL: lexical},
            )
        elif not client.collection_exists(COLLECTION):
            client.close()
            raise ValueError("it holds no collection of ours")
    return ClientEngine(client, COLLECTION, place)
