"""Options of a collection on a server and of its searches, from the settings."""

from collections.abc import Container, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from qdrant_client import QdrantClient, models

from raptor_core.errors import StoreError
from raptor_core.settings.stores import StoreSettings
from raptor_core.store.engines.base import DENSE, KEYWORD_FIELDS, LEXICAL, LINKED_FIELDS

_COLLECTION = {"on_disk_payload": True, "optimizers_config": {"indexing_threshold": 150_000}}
"""Options that differ from the server's defaults: a search graph from 150 MB of vectors on."""
_SEARCH = {"hnsw_ef": 256}

Options = TypeVar("Options", bound=BaseModel)


class CollectionLayout:
    """Options from the settings, on top of our defaults; the server decides all others.

    Raises:
        StoreError: Qdrant has no such option, or rejects its value.
    """

    def __init__(self, settings: StoreSettings) -> None:
        chosen = {**_COLLECTION, **settings.collection}
        self._vectors = chosen.pop("vectors", {})
        self._collection = _validate_options(models.CreateCollection, "store.collection", chosen)
        self.search_params = _validate_options(
            models.SearchParams, "store.search", {**_SEARCH, **settings.search}
        )

    def create(
        self, client: QdrantClient, name: str, n_dims: int, metadata: dict[str, Any]
    ) -> None:
        """Create an empty collection."""
        place = {"size": n_dims, "distance": models.Distance.COSINE}
        vectors = {**place, **self._vectors}
        dense = _validate_options(models.VectorParams, "store.collection.vectors", vectors)
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        options = self._collection
        client.create_collection(
            name,
            vectors_config={DENSE: dense},
            sparse_vectors_config={LEXICAL: words},
            metadata=metadata,
            **{option: getattr(options, option) for option in options.model_fields_set},
        )

    def create_indexes(self, client: QdrantClient, name: str, existing: Container[str]) -> None:
        """Create the missing indexes of payload fields."""
        for field in KEYWORD_FIELDS:
            if field in existing:
                continue
            keyword = models.KeywordIndexParams(
                type=models.KeywordIndexType.KEYWORD, enable_hnsw=field in LINKED_FIELDS
            )
            client.create_payload_index(name, field, keyword, wait=True)
        if "layer" not in existing:
            layer = models.IntegerIndexParams(
                type=models.IntegerIndexType.INTEGER, lookup=True, range=False, enable_hnsw=False
            )
            client.create_payload_index(name, "layer", layer, wait=True)

    @staticmethod
    def create_range_index(client: QdrantClient, name: str, field: str) -> None:
        """Create the index of a numeric field; without it, a strict server rejects ranges."""
        floats = models.FloatIndexParams(type=models.FloatIndexType.FLOAT, enable_hnsw=False)
        client.create_payload_index(name, field, floats, wait=True)


def _validate_options(model: type[Options], setting: str, values: Mapping[str, Any]) -> Options:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = {".".join(map(str, e["loc"])): e["msg"] for e in error.errors()}
        place, reason = next(iter(faults.items()))
        raise StoreError(
            f"{setting}.{place}: {reason}; the options and values are those of Qdrant's own "
            f"{model.__name__}"
        ) from error
