"""IO managers by which a team's assets read the chain's assets and keep their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from raptor_assets.assets.names import CHAIN_NAMES, ChainAsset
from raptor_assets.assets.schemas import SCHEMAS
from raptor_assets.home.access import CorpusAccess
from raptor_core.errors import StoreError, TableError
from raptor_core.tree.cache import ChainedKnown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_TREE = CHAIN_NAMES.tree.path
WHOLE = "all"  # file name of a table without partitions


class TablesIOManager(dg.IOManager):
    """IO manager of data frames as Parquet files, several by partition key."""

    def __init__(self, access: CorpusAccess) -> None:
        self._access = access

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Write the data frame of one partition; all else raises a TableError."""
        import pandas as pd

        name = context.asset_key.to_user_string()
        partitions = context.asset_partition_keys if context.has_asset_partitions else [WHOLE]
        if not isinstance(obj, pd.DataFrame) or len(partitions) != 1:
            raise TableError(
                f"asset {name} gave {type(obj).__name__} for {len(partitions)} partitions; "
                "expected a pandas data frame for one. Convert it, or name another io_manager_key"
            )
        path = self._access.tables.write(self._path(context), partitions[0], obj)
        context.add_output_metadata({"path": path, "dagster/row_count": len(obj)})

    def load_input(self, context: dg.InputContext) -> Any:
        """Return the data frame of the input's partition, or several by partition key."""
        asset = self._access.names.find(context.asset_key)
        if not context.has_asset_partitions:
            return self._frame(self._access.tables.read(self._path(context), WHOLE))
        frames = {
            name: self.read(asset, name)
            if asset
            else self._frame(self._access.tables.read(self._path(context), name))
            for name in context.asset_partition_keys
        }
        return next(iter(frames.values())) if len(frames) == 1 else frames

    def read(self, asset: ChainAsset, partition: str) -> pd.DataFrame:
        """Read a table of the chain, without rows if the trees end below its layer."""
        tables, schema = self._access.tables, SCHEMAS.get(asset.kind)
        table = tables.find(asset.path, partition)
        if table is None and schema and asset.layer and tables.exists(_TREE, partition):
            table = schema.table(())
        return self._frame(tables.read(asset.path, partition) if table is None else table)

    def _frame(self, table: pa.Table) -> pd.DataFrame:
        frame: pd.DataFrame = table.to_pandas(use_threads=False)
        return frame

    def _path(self, context: dg.InputContext | dg.OutputContext) -> Sequence[str]:
        """Return the folders of an asset's tables; other assets have a separate folder."""
        asset = self._access.names.find(context.asset_key)
        return asset.path if asset else ("assets", *context.asset_key.path)


class QdrantLayersIOManager(TablesIOManager):
    """IO manager of ``layer_k/embeddings``: a layer's nodes with their vectors, float32."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Raise a StoreError, since only the chain makes layers."""
        raise StoreError(
            f"asset {context.asset_key.to_user_string()} cannot write layers: {type(obj).__name__} "
            "given. Only the chain makes them; use another io_manager_key"
        )

    def read(self, asset: ChainAsset, partition: str) -> pd.DataFrame:
        """Read nodes and vectors of one layer and partition; all vectors must be known."""
        frame = super().read(CHAIN_NAMES.nodes(asset.layer), partition)
        with self._access.store.open_existing() as store:
            known = ChainedKnown(self._access.components().cache, store)
            vectors = known.vectors(frame["embedding_key"])
        missing = set(frame["embedding_key"]) - vectors.keys()
        if missing:
            raise StoreError(
                f"{len(missing)} of {len(frame)} vectors of {asset.name}, partition "
                f"{partition!r}, are neither kept nor published; materialize it again"
            )
        frame["vector"] = frame["embedding_key"].map(vectors)
        return frame
