"""A shard of Qdrant Edge as it is made, and the errors of its engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raptor_core.errors import StoreError
from raptor_core.store.engine import DENSE, LEXICAL
from raptor_core.store.packing import KEYS

VACUUM_POINTS = 100
SEALED_KB = 8_000
"""Vectors of a segment from which ``optimize`` seals it: 5,000 of 384 dimensions. The files of a
sealed segment are mapped where an open one is read into memory, so opening does not grow with the
corpus: 30,000 nodes open in 30 ms of CPU sealed and in 240 as they were written. There is no graph
(``m`` is 0): a search looks at every vector, which takes 25 ms at 100,000 and misses nothing, where
a graph took minutes to build and missed most of the nearest of random vectors."""

SEGMENTS = 5
"""Segments up to which ``optimize`` merges none: each takes 10 ms to open, and with fewer the large
one is written again at every sealing."""


@contextmanager
def engine_errors(path: Path, doing: str) -> Iterator[None]:
    """What the engine raises as a StoreError that names the place and the remedy."""
    try:
        yield
    except StoreError:
        raise
    except BaseException as error:
        vendor = type(error) is Exception or type(error).__name__ == "PanicException"
        if not vendor:
            raise
        raise StoreError(
            f"{path}: Qdrant Edge failed to {doing}: {error}. Free space if the disk is full; if "
            f"its files are damaged, move {path.parent} and the .json of its corpus beside it away "
            "and build again: texts come from the tables"
        ) from error


def create_shard(path: Path, n_dims: int) -> None:
    """Make an empty shard with its vectors and indexes in the empty directory ``path``."""
    import qdrant_edge as edge

    cold = edge.Memory.Cold
    config = edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=n_dims, distance=edge.Distance.Cosine)},
        sparse_vectors={
            LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf, memory=cold)
        },
        wal_enabled=False,
        id_tracker_memory=cold,
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        optimizers=edge.EdgeOptimizersConfig(
            vacuum_min_vector_number=VACUUM_POINTS,
            indexing_threshold=SEALED_KB,
            default_segment_number=SEGMENTS,
        ),
    )
    with engine_errors(path, "create a shard"):
        shard = edge.EdgeShard.create(str(path), config)
        schema = edge.KeywordIndexParams(enable_hnsw=False, memory=cold)
        shard.update(edge.UpdateOperation.create_field_index(KEYS, schema))
        shard.flush()
        shard.close()
