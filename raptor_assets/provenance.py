"""Version tags of a materialization, as Dagster writes them for an output.

The chain logs one materialization per partition, since an output of a run over several partitions
has one data version for all of them. The tags give the UI the staleness and provenance of outputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from raptor_assets import keys
from raptor_assets.names import CorpusNames

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
class Recorded:
    """Latest materialization of one partition of an asset."""

    data_version: str
    storage_id: int


class Provenance:
    """Latest materializations of one batch of partitions in one run, and tags for new ones."""

    def __init__(
        self,
        instance: dg.DagsterInstance,
        partitions: Sequence[str],
        code_versions: Mapping[dg.AssetKey, str],
        dependencies: Mapping[dg.AssetKey, Sequence[dg.AssetKey]],
        corpus: CorpusNames,
    ) -> None:
        self._instance = instance
        self._partitions = list(partitions)
        self._code_versions = code_versions
        self._dependencies = dependencies
        self._corpus = corpus
        self._known: dict[dg.AssetKey, dict[str, Recorded]] = {}
        self._tagged: dict[dg.AssetKey, dict[str, str]] = {}

    def tags(self, key: dg.AssetKey, partition: str, data_version: str) -> dict[str, str]:
        """Return the tags of a new materialization."""
        tags = {CODE_VERSION: self._code_versions[key]}
        for upstream in self._dependencies[key]:
            recorded = self.latest(upstream).get(partition)
            version = recorded.data_version if recorded else INITIAL_VERSION
            pointer = str(recorded.storage_id) if recorded else NO_EVENT
            shown = keys.shown(self._corpus, upstream)
            tags[f"{INPUT_VERSION}/{shown.to_user_string()}"] = version
            tags[f"{INPUT_EVENT}/{shown.to_user_string()}"] = pointer
        self._tagged.setdefault(key, {})[partition] = data_version
        return tags | version_tags(data_version)

    def latest(self, key: dg.AssetKey) -> Mapping[str, Recorded]:
        """Return the recorded materializations of an asset by partition; one query each."""
        if key not in self._known:
            shown = keys.shown(self._corpus, key)
            ids = self._instance.get_latest_storage_id_by_partition(
                shown, MATERIALIZED, set(self._partitions)
            )
            versions = self._tagged.get(key, {})
            if ids.keys() - versions.keys():
                versions = recorded_versions(self._instance, shown, self._partitions) | versions
            self._known[key] = {
                partition: Recorded(versions.get(partition, INITIAL_VERSION), storage_id)
                for partition, storage_id in ids.items()
            }
        return self._known[key]

    def forget(self, key: dg.AssetKey) -> None:
        """Forget the materializations of an asset, since new ones are in the log."""
        self._known.pop(key, None)


def version_tags(data_version: str) -> dict[str, str]:
    """Return the tags of a materialization with this version."""
    return {DATA_VERSION: data_version, IS_GIVEN: "true"}


def recorded_versions(
    instance: dg.DagsterInstance, key: dg.AssetKey, partitions: Sequence[str] | None = None
) -> dict[str, str]:
    """Return the latest data version by partition, of all partitions or of the listed ones."""
    tags_by_partition = instance.event_log_storage.get_latest_tags_by_partition(
        key, MATERIALIZED, [DATA_VERSION], asset_partitions=partitions
    )
    return {partition: tags[DATA_VERSION] for partition, tags in tags_by_partition.items()}
