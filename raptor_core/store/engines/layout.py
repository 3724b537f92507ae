"""Options of a collection on a server and of searches in it, from the settings."""

from typing import Any

from qdrant_client import QdrantClient, models

from raptor_core.settings.stores import StoreSettings
from raptor_core.store.engines.base import DENSE, KEYWORD_FIELDS, LEXICAL, LINKED_FIELDS


class Layout:
    """Options from the settings; an option that a setting leaves to the server is not sent."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings

    def create(self, client: QdrantClient, name: str, n_dims: int) -> None:
        """Create an empty collection."""
        settings = self._settings
        optimizers = None
        if settings.indexing_threshold >= 0:
            optimizers = models.OptimizersConfigDiff(indexing_threshold=settings.indexing_threshold)
        dense = models.VectorParams(
            size=n_dims,
            distance=models.Distance.COSINE,
            on_disk=settings.on_disk_vectors,
            hnsw_config=self._hnsw(),
            quantization_config=self._quantization(),
        )
        client.create_collection(
            name,
            vectors_config={DENSE: dense},
            sparse_vectors_config={
                LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)
            },
            shard_number=settings.shard_number or None,
            replication_factor=settings.replication_factor or None,
            write_consistency_factor=settings.write_consistency_factor or None,
            on_disk_payload=settings.on_disk_payload,
            optimizers_config=optimizers,
        )

    def create_indexes(self, client: QdrantClient, name: str) -> None:
        """Create the indexes of payload fields; existing indexes stay."""
        for field in KEYWORD_FIELDS:
            keyword = models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, enable_hnsw=field in LINKED_FIELDS
            )
            client.create_payload_index(name, field, keyword, wait=True)
        layer = models.IntegerIndexParams(
            type=models.IntegerIndexType.INTEGER, lookup=True, range=False, enable_hnsw=False
        )
        client.create_payload_index(name, "layer", layer, wait=True)

    def _hnsw(self) -> models.HnswConfigDiff | None:
        values = {
            "m": self._settings.hnsw_m,
            "payload_m": self._settings.hnsw_payload_m,
            "ef_construct": self._settings.hnsw_ef_construct or -1,
        }
        chosen = {key: value for key, value in values.items() if value >= 0}
        return models.HnswConfigDiff(**chosen) if chosen else None

    def _quantization(self) -> Any:
        """Return the quantization; its vectors stay in memory, which is their purpose."""
        if self._settings.quantization == "scalar":
            scalar = models.ScalarQuantizationConfig(
                type=models.ScalarType.INT8, quantile=0.99, always_ram=True
            )
            return models.ScalarQuantization(scalar=scalar)
        if self._settings.quantization == "binary":
            binary = models.BinaryQuantizationConfig(always_ram=True)
            return models.BinaryQuantization(binary=binary)
        return None

    def search_params(self) -> models.SearchParams | None:
        """Return the options of a search by vectors; whole vectors rescore quantized hits."""
        settings = self._settings
        quantized = None
        if settings.quantization != "none":
            quantized = models.QuantizationSearchParams(
                rescore=True, oversampling=settings.oversampling
            )
        if quantized is None and not settings.hnsw_ef:
            return None
        return models.SearchParams(hnsw_ef=settings.hnsw_ef or None, quantization=quantized)

    def consistency(self) -> dict[str, Any]:
        """Return the argument of every read; none where any copy may answer."""
        kind = self._settings.read_consistency
        return {} if kind == "one" else {"consistency": models.ReadConsistencyType(kind)}
