"""Tags of a run: its process and its costs."""

import os
import re
import socket

import dagster as dg

from raptor_core.models.money.ledger import Ledger

PAID_PREFIX = "raptor/paid-"
PROCESS_TAG = ".dagster/raptor-process"
"""Tag with the run, the host and the process id; the UI hides it."""


def process_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Return the tag of a run's process; none in a step's process, which ends before the run."""
    if context.job_def.executor_def.name not in ("in_process", "execute_in_process_executor"):
        return {}
    return {PROCESS_TAG: f"{context.run.run_id}@{socket.gethostname()}:{os.getpid()}"}


def run_spending_tags(ledger: Ledger) -> dict[str, str]:
    """Return the costs of a run so far as tags, by model, without money for unknown prices.

    "raptor/paid-summaries-gpt-4o-mini": "53 calls, 91,204 tokens, 0.021 USD".
    """
    tags = {}
    for line in ledger.spendings:
        usage = line.usage
        if usage.calls and line.model:
            money = "" if usage.usd is None else f", {usage.usd:.6g} USD"
            model = re.sub(r"[^A-Za-z0-9._-]", "-", line.model)[:40]  # a tag's key allows these
            cost = f"{usage.calls:,} calls, {usage.tokens:,} tokens{money}"
            tags[f"{PAID_PREFIX}{line.purpose}-{model}"] = cost
    return tags


def is_dead(run: dg.DagsterRun) -> bool:
    """Return whether the process of a run has ended; False for one of another host.

    A retried run inherits the tag of the first attempt, which names that attempt's run.
    """
    run_id, _, process = run.tags.get(PROCESS_TAG, "").partition("@")
    host, _, pid = process.rpartition(":")
    if run_id != run.run_id or host != socket.gethostname() or not re.fullmatch("[0-9]{1,20}", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):  # no system has processes of such a number
        return True
    except PermissionError:
        return False
    return False
