"""What a check without partitions measured before."""

from __future__ import annotations

import dagster as dg
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

_JUDGED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}


def past_values(
    instance: dg.DagsterInstance, check: dg.AssetCheckKey, name: str, last: int
) -> list[float]:
    """Values of one number of the last evaluations, oldest first; one query."""
    history = instance.event_log_storage.get_asset_check_execution_history(
        check, limit=last, status=_JUDGED
    )
    done = [record.evaluation for record in reversed(history)]
    values = [
        evaluation.metadata[name].value
        for evaluation in done
        if isinstance(evaluation, dg.AssetCheckEvaluation) and name in evaluation.metadata
    ]
    return [float(value) for value in values if isinstance(value, int | float)]
