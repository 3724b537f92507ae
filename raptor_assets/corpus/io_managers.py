"""IO managers with which a team's own assets read the assets of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from raptor_assets.assets.names import CHAIN_NAMES, ChainAsset
from raptor_assets.assets.schemas import SCHEMAS
from raptor_assets.home.access import CorpusAccess
from raptor_core.errors import StoreError, TableError
from raptor_core.tree.cache import ChainedKnownContent

if TYPE_CHECKING:
    import pandas as pd

_TREE = CHAIN_NAMES.tree.table_path


class TablesIOManager(dg.IOManager):
    """IO manager that reads tables of the chain as data frames, or as a dict by partition key."""

    def __init__(self, access: CorpusAccess) -> None:
        self._access = access

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Raise a TableError, since only the chain writes its tables and layers."""
        raise TableError(
            f"asset {context.asset_key.to_user_string()} gave {type(obj).__name__} to an IO "
            "manager that only reads the assets of the chain; use another io_manager_key"
        )

    def load_input(self, context: dg.InputContext) -> Any:
        """Return the data frame of the input's partition, or several by partition key."""
        asset = self._access.names.find_asset(context.asset_key)
        if asset is None:
            raise TableError(
                f"asset {context.asset_key.to_user_string()} is not one of this corpus, and this "
                "IO manager reads no other; use another input_manager_key"
            )
        frames = {name: self.read_frame(asset, name) for name in context.asset_partition_keys}
        return next(iter(frames.values())) if len(frames) == 1 else frames

    def read_frame(self, asset: ChainAsset, partition: str) -> pd.DataFrame:
        """Read a table of the chain, without rows if the trees end below its layer."""
        tables, schema = self._access.tables, SCHEMAS.get(asset.kind)
        table = tables.read_if_exists(asset.table_path, partition)
        if table is None and schema and asset.layer and tables.exists(_TREE, partition):
            table = schema.to_table(())
        found = tables.read(asset.table_path, partition) if table is None else table
        frame: pd.DataFrame = found.to_pandas(use_threads=False)
        return frame


class QdrantLayersIOManager(TablesIOManager):
    """IO manager of ``layer_k/embeddings``: a layer's nodes with their vectors, float32."""

    def read_frame(self, asset: ChainAsset, partition: str) -> pd.DataFrame:
        """Read nodes and vectors of one layer and partition; all vectors must be known."""
        frame = super().read_frame(CHAIN_NAMES.node_table_asset(asset.layer), partition)
        with self._access.store.open_existing() as store:
            known = ChainedKnownContent(self._access.components().cache, store)
            vectors = known.vectors(frame["embedding_key"])
        missing = set(frame["embedding_key"]) - vectors.keys()
        if missing:
            raise StoreError(
                f"{len(missing)} of {len(frame)} vectors of {asset.name}, partition "
                f"{partition!r}, are neither kept nor published; materialize it again"
            )
        frame["vector"] = frame["embedding_key"].map(vectors)
        return frame
