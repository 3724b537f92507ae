"""IO managers by which a team's assets read the chain's assets and keep their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from raptor_assets import keys, names
from raptor_assets.names import layer_of
from raptor_assets.project.resources import Resources
from raptor_assets.specs import SCHEMAS
from raptor_core.errors import StoreError, TableError
from raptor_core.tree.cache import ChainedKnown

if TYPE_CHECKING:
    import pandas as pd

WHOLE = "all"  # file name of a table without partitions


class TablesIOManager(dg.IOManager):
    """IO manager of data frames as Parquet files, several by partition key."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

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
        path = self._resources.tables.write(self._path_key(context).path, partitions[0], obj)
        context.add_output_metadata({"path": path, "dagster/row_count": len(obj)})

    def load_input(self, context: dg.InputContext) -> Any:
        """Return the data frame of the input's partition, or several by partition key."""
        key = self._path_key(context)
        if not context.has_asset_partitions:
            return self.read(key, WHOLE)
        frames = {name: self.read(key, name) for name in context.asset_partition_keys}
        return next(iter(frames.values())) if len(frames) == 1 else frames

    def read(self, key: dg.AssetKey, partition: str) -> pd.DataFrame:
        """Read one table by the chain's key, without rows if the trees end below its layer."""
        tables = self._resources.tables
        table = tables.find(key.path, partition)
        schema = SCHEMAS.get(key.path[-1]) if len(key.path) > 1 else None
        if table is None and schema and tables.exists(names.TREE.split("/"), partition):
            table = schema.table(())
        table = tables.read(key.path, partition) if table is None else table
        frame: pd.DataFrame = table.to_pandas(use_threads=False)
        return frame

    def _path_key(self, context: dg.InputContext | dg.OutputContext) -> dg.AssetKey:
        """Return the chain's key of an asset, or a key in a separate folder for other assets."""
        key = context.asset_key
        return keys.chain_key(self._resources.names, key) or key.with_prefix("assets")


class QdrantLayersIOManager(TablesIOManager):
    """IO manager of ``layer_k/embeddings``: a layer's nodes with their vectors, float32."""

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Raise a StoreError, since only the chain makes layers."""
        raise StoreError(
            f"asset {context.asset_key.to_user_string()} cannot write layers: {type(obj).__name__} "
            "given. Only the chain makes them; use another io_manager_key"
        )

    def read(self, key: dg.AssetKey, partition: str) -> pd.DataFrame:
        """Read nodes and vectors of one layer and partition; all vectors must be known."""
        layer = layer_of(key.to_user_string())
        frame = super().read(keys.of(names.nodes(layer)), partition)
        with self._resources.store.open_existing() as store:
            known = ChainedKnown(self._resources.components().cache, store)
            vectors = known.vectors(frame["embedding_key"])
        missing = set(frame["embedding_key"]) - vectors.keys()
        if missing:
            raise StoreError(
                f"{len(missing)} of {len(frame)} vectors of {key.to_user_string()}, partition "
                f"{partition!r}, are neither kept nor published; materialize it again"
            )
        frame["vector"] = frame["embedding_key"].map(vectors)
        return frame
