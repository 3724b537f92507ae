"""How a run says which partitions failed, and which it did not begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import dagster as dg

from raptor_assets.names import NOT_EXECUTED
from raptor_assets.partition_state import Failure

NAMED_FAILURES = 20


def not_started(struck: Failure) -> Failure:
    """The failure of a partition that a run leaves out, after what ``struck`` all."""
    reason = f"not started, since the run stopped there: {struck.reason}"
    return Failure(struck.asset, reason, struck.error)


def failure_events(
    key: dg.AssetKey, name: str, failure: Failure, checks: Iterable[str]
) -> Iterator[dg.AssetObservation | dg.AssetCheckEvaluation]:
    """Why a partition went no further: on the partition's page of an asset, and in its checks."""
    told = f"The build of this partition failed at {failure.asset}: {failure.reason}"
    yield dg.AssetObservation(
        asset_key=key,
        partition=name,
        description=told,
        metadata={"failed_at": failure.asset, "reason": failure.reason},
    )
    for check in checks:
        yield dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=check,
            partition=name,
            passed=False,
            severity=dg.AssetCheckSeverity.WARN,
            description=f"{NOT_EXECUTED} {told}",
        )


def run_failure(failures: Mapping[str, Failure], n_partitions: int) -> dg.Failure:
    """What fails a step of ``n_partitions``; it names each failed one, asset and reason."""
    named = [
        f"- {name}, at {failure.asset}: {failure.reason}" for name, failure in failures.items()
    ]
    shown = named[:NAMED_FAILURES]
    if len(named) > NAMED_FAILURES:
        shown.append(f"- and {len(named) - NAMED_FAILURES} more, named in the log")
    return dg.Failure(
        description=(
            f"{len(failures)} of {n_partitions} partitions failed; what was published of them "
            "stays as it was, and the others are finished:\n" + "\n".join(shown)
        ),
        metadata={"failed_partitions": dg.MetadataValue.json(sorted(failures))},
        allow_retries=False,
    )
