"""IO managers: how assets of the team's own read the chain's assets, and keep their own."""

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

WHOLE = "all"
"""File name of a table without partitions."""


class TablesIOManager(dg.IOManager):
    """Data frames as Parquet files on any fsspec path.

    A downstream asset of one partition gets a data frame; one that spans several gets them by
    partition key.
    """

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Write one table per partition of the output.

        Raises:
            TableError: it is no data frame, or spans several partitions.
        """
        import pandas as pd

        name = context.asset_key.to_user_string()
        partitions = context.asset_partition_keys if context.has_asset_partitions else [WHOLE]
        if not isinstance(obj, pd.DataFrame) or len(partitions) != 1:
            raise TableError(
                f"asset {name} gave {type(obj).__name__} for {len(partitions)} partitions; "
                "expected a pandas data frame for one. Convert it, or name another io_manager_key"
            )
        path = self._resources.tables.write(self._own(context.asset_key).path, partitions[0], obj)
        context.add_output_metadata({"path": path, "dagster/row_count": len(obj)})

    def load_input(self, context: dg.InputContext) -> Any:
        """The data frame of the input's partition, or several by partition key."""
        key = self._own(context.asset_key)
        if not context.has_asset_partitions:
            return self.read(key, WHOLE)
        names = context.asset_partition_keys
        frames = {name: self.read(key, name) for name in names}
        return frames[names[0]] if len(names) == 1 else frames

    def read(self, key: dg.AssetKey, partition: str) -> pd.DataFrame:
        """One table, by its own key; without rows where the trees end below its layer."""
        tables = self._resources.tables
        table = tables.find(key.path, partition)
        schema = SCHEMAS.get(key.path[-1]) if len(key.path) > 1 else None
        if table is None and schema and tables.exists(names.TREE.split("/"), partition):
            table = schema.table(())
        whole = tables.read(key.path, partition) if table is None else table
        frame: pd.DataFrame = whole.to_pandas(use_threads=False)
        return frame

    def _own(self, key: dg.AssetKey) -> dg.AssetKey:
        """The chain's own key of its assets; others have a folder beside theirs."""
        return keys.chain_key(self._resources.names, key) or key.with_prefix("assets")


class QdrantLayersIOManager(TablesIOManager):
    """``layer_k/embeddings`` as a data frame: the layer's nodes with a ``vector`` column.

    Nodes come from the layer's table, vectors (float32) from the cache of unfinished work, or from
    the vector store once they are published.
    """

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Refuse: only the chain makes layers.

        Raises:
            StoreError: always.
        """
        raise StoreError(
            f"asset {context.asset_key.to_user_string()} cannot write layers: {type(obj).__name__} "
            "given. Only the chain makes them; use another io_manager_key"
        )

    def read(self, key: dg.AssetKey, partition: str) -> pd.DataFrame:
        """Nodes and vectors of one layer and partition.

        Raises:
            StoreError: a vector is neither kept nor published.
        """
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
