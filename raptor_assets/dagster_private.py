"""Names of Dagster that it does not document; no other module imports such names.

The tests name each of them, so that they fail where a new release of Dagster lacks one.
"""

from dagster._check import CheckError
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Target,
)
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.event_api import EventHandlerFn, PartitionKeyFilter
from dagster._core.events import AssetMaterializationPlannedData
from dagster._core.events.log import EventLogEntry
from dagster._core.execution.api import execute_run_iterator
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log.polling_event_watcher import SqlPollingEventWatcher
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, AssetKeyTable
from dagster._core.storage.event_log.sqlite import consolidated_sqlite_event_log
from dagster._core.storage.sql import get_alembic_config, stamp_alembic_rev
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._serdes import ConfigurableClassData

__all__ = [
    "AssetCheckExecutionRecordStatus",
    "AssetCheckExecutionsTable",
    "AssetKeyTable",
    "AssetMaterializationPlannedData",
    "CheckError",
    "ConfigurableClassData",
    "EventHandlerFn",
    "EventLogEntry",
    "InMemoryJob",
    "LoadableTargetOrigin",
    "ManagedGrpcPythonEnvCodeLocationOrigin",
    "PartitionKeyFilter",
    "RemoteJobOrigin",
    "RemoteRepositoryOrigin",
    "SqlPollingEventWatcher",
    "Target",
    "consolidated_sqlite_event_log",
    "execute_run_iterator",
    "get_alembic_config",
    "stamp_alembic_rev",
]
