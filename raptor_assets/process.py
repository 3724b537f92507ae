"""Tags of a run: its process, its turn at partitions, and its costs."""

import os
import re
import socket

import dagster as dg

from raptor_core.models.money.ledger import Ledger

PAID_PREFIX = "raptor/paid-"
PROCESS_TAG = ".dagster/raptor-process"  # host and process id; the UI hides such tags


def process_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Return the tag of a run's process; none in a step's process, which ends before the run."""
    if context.job_def.executor_def.name not in ("in_process", "execute_in_process_executor"):
        return {}
    return {PROCESS_TAG: f"{socket.gethostname()}:{os.getpid()}"}


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


def is_dead(process: str) -> bool:
    """Return whether a tagged process has ended; False for a process of another host."""
    host, _, pid = process.rpartition(":")
    if host != socket.gethostname() or not re.fullmatch("[0-9]{1,20}", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):  # no system has processes of such a number
        return True
    except PermissionError:
        return False
    return False


TURN_TAG = ".dagster/raptor-turn"
"""Tag of a run that began its turn: the run's id. A retried run inherits this tag of the first
attempt, with the first attempt's id."""


def turn_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Return the tags of a run that began its turn in this process; none in a step's process."""
    tags = process_tags(context)
    return {**tags, TURN_TAG: context.run.run_id} if tags else {}
