"""Version tags of a materialization, as Dagster writes them for an output.

The chain logs one materialization per partition, since an output of a run over several partitions
has one data version for all of them. The tags give the UI the staleness and provenance of outputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from raptor_assets.assets.names import ChainAsset

MATERIALIZED = dg.DagsterEventType.ASSET_MATERIALIZATION

CODE_VERSION = "dagster/code_version"
DATA_VERSION = "dagster/data_version"
IS_GIVEN = "dagster/data_version_is_user_provided"
INPUT_VERSION = "dagster/input_data_version"
INPUT_EVENT = "dagster/input_event_pointer"
"""Tags of a materialization; those of inputs end with the input's key."""

NO_EVENT = "NULL"
INITIAL_VERSION = "INITIAL"  # data version of an asset that was never materialized


@dataclass(frozen=True, slots=True)
class RecordedMaterialization:
    """Latest materialization of one partition of an asset."""

    data_version: str
    storage_id: int


class Provenance:
    """Latest materializations of one batch of partitions in one run, and tags for new ones.

    ``code_versions`` are by kind of asset, ``parents`` are the assets that each is made of.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        partitions: Sequence[str],
        code_versions: Mapping[str, str],
        parents: Mapping[ChainAsset, Sequence[ChainAsset]],
    ) -> None:
        self._instance = instance
        self._partitions = list(partitions)
        self._code_versions = code_versions
        self._parents = parents
        self._known: dict[ChainAsset, dict[str, RecordedMaterialization]] = {}
        self._tagged: dict[ChainAsset, dict[str, str]] = {}

    def tags_of_new(self, asset: ChainAsset, partition: str, data_version: str) -> dict[str, str]:
        """Return the tags of a new materialization."""
        tags = {CODE_VERSION: self._code_versions[asset.kind]}
        for upstream in self._parents[asset]:
            recorded = self.read_latest(upstream).get(partition)
            version = recorded.data_version if recorded else INITIAL_VERSION
            tags[f"{INPUT_VERSION}/{upstream.key_text}"] = version
            tags[f"{INPUT_EVENT}/{upstream.key_text}"] = (
                str(recorded.storage_id) if recorded else NO_EVENT
            )
        self._tagged.setdefault(asset, {})[partition] = data_version
        return {**tags, DATA_VERSION: data_version, IS_GIVEN: "true"}

    def read_latest(self, asset: ChainAsset) -> Mapping[str, RecordedMaterialization]:
        """Return the recorded materializations of an asset by partition, from one query."""
        if asset not in self._known:
            ids = self._instance.get_latest_storage_id_by_partition(
                asset.key, MATERIALIZED, set(self._partitions)
            )
            versions = self._tagged.get(asset, {})
            if ids.keys() - versions.keys():
                versions = self._recorded_versions(asset) | versions
            self._known[asset] = {
                partition: RecordedMaterialization(
                    versions.get(partition, INITIAL_VERSION), storage_id
                )
                for partition, storage_id in ids.items()
            }
        return self._known[asset]

    def _recorded_versions(self, asset: ChainAsset) -> dict[str, str]:
        tags_by_partition = self._instance.event_log_storage.get_latest_tags_by_partition(
            asset.key, MATERIALIZED, [DATA_VERSION], asset_partitions=self._partitions
        )
        return {partition: tags[DATA_VERSION] for partition, tags in tags_by_partition.items()}

    def forget_recorded(self, asset: ChainAsset) -> None:
        """Forget the materializations of an asset, since new ones are in the log."""
        self._known.pop(asset, None)
