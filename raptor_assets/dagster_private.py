"""Names of Dagster that it does not document; no other module imports such names.

The tests name each of them, so that they fail where a new release of Dagster lacks one.
"""

from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData as Target,
)
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.events import AssetMaterializationPlannedData
from dagster._core.execution.api import execute_run_iterator
from dagster._core.storage.event_log import (
    ConsolidatedSqliteEventLogStorage,
    SqlPollingEventWatcher,
)

__all__ = [
    "AssetMaterializationPlannedData",
    "ConsolidatedSqliteEventLogStorage",
    "InMemoryJob",
    "PartitionKeyFilter",
    "SqlPollingEventWatcher",
    "Target",
    "execute_run_iterator",
]
