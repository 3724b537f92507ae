"""Builds that wait for a person's approval (``runs.publish``), by partition.

A table of the partition names its builds and their inputs; each build is a file of
``raptor_core.transfer.kept`` with all nodes and vectors. The table is written last, so that either
all trees of a partition wait or none.
"""

from collections.abc import Iterable, Mapping, Sequence

from raptor_assets.assets.names import WAITING
from raptor_core.store.base import Manifest, StoreIdentity, TreeEdition
from raptor_core.tables.files import TableStore
from raptor_core.tables.schema import Schema
from raptor_core.transfer.kept import KeptBuilds

_BUILDS = Schema(("tree", "string"), ("build", "string"))


class WaitingBuilds:
    """Builds of partitions that wait for approval, one of each tree.

    Args:
        tables: tables of the corpus.
        builds: folder of the builds.
    """

    def __init__(self, tables: TableStore, builds: KeptBuilds) -> None:
        self._tables = tables
        self._builds = builds

    def write(
        self, partition: str, editions: Sequence[TreeEdition], identity: StoreIdentity, inputs: str
    ) -> None:
        """Write the builds of a partition, made from ``inputs``, in place of earlier ones."""
        self.delete(partition)
        names = [self._builds.write_build(edition, identity, {}) for edition in editions]
        trees = [edition.manifest.tree for edition in editions]
        table = _BUILDS.to_table(zip(trees, names, strict=True))
        self._tables.write(WAITING.table_path, partition, table, {"inputs": inputs})

    def select_waiting(self, partitions: Iterable[str]) -> list[str]:
        """Return the partitions among these whose build waits, from one listing."""
        return self._tables.existing_partitions(WAITING.table_path, dict.fromkeys(partitions))

    def read_inputs(self, partitions: Iterable[str]) -> Mapping[str, str]:
        """Return what the waiting builds of these partitions were made from, by partition."""
        read = self._tables.properties
        return {
            name: (read(WAITING.table_path, name) or {}).get("inputs", "")
            for name in self.select_waiting(partitions)
        }

    def read_manifests(self, partition: str) -> dict[str, Manifest]:
        """Return the manifests of the builds of a partition that wait, by tree."""
        return {
            tree: build.manifest
            for tree, name in self._read_names(partition).items()
            for build in self._builds.builds(tree)
            if build.id == name
        }

    def read(self, partition: str, identity: StoreIdentity) -> list[TreeEdition]:
        """Return the waiting builds of a partition with all nodes; none if none waits.

        Raises:
            ExportError: a file is damaged, or has vectors of another embedder.
        """
        names = self._read_names(partition)
        return [self._builds.read(tree, name, identity) for tree, name in names.items()]

    def delete(self, partition: str) -> None:
        """Delete the builds of a partition that wait."""
        for tree in self._read_names(partition):
            self._builds.delete(tree)
        self._tables.delete(WAITING.table_path, partition)

    def _read_names(self, partition: str) -> dict[str, str]:
        table = self._tables.read_if_exists(WAITING.table_path, partition)
        return {} if table is None else dict(_BUILDS.rows(table))
