"""A run among others: its process, its turn at partitions, and what it was paid for, as tags."""

from __future__ import annotations

import os
import re
import socket

import dagster as dg

from raptor_assets.costs import is_metered
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import SUMMARIES, Spending, Usage
from raptor_core.settings import Settings

PROCESS_TAG = ".dagster/raptor-process"
"""Tag of a run: host and process id. The UI hides tags of this beginning."""


def process_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """The tag of a run's process; none in a process of a step, which ends before the run does."""
    if context.job_def.executor_def.name not in ("in_process", "execute_in_process_executor"):
        return {}
    return {PROCESS_TAG: f"{socket.gethostname()}:{os.getpid()}"}


def endpoints_usage(ledger: Ledger, settings: Settings) -> Usage:
    """What endpoints took in a run so far."""
    return sum((line.usage for line in _of_endpoints(ledger, settings)), Usage())


def _of_endpoints(ledger: Ledger, settings: Settings) -> list[Spending]:
    """Without summaries that were made here, which are counted as calls."""
    local = not is_metered(settings)
    return [line for line in ledger.spendings if not (local and line.purpose == SUMMARIES)]


def run_spending_tags(ledger: Ledger, settings: Settings) -> dict[str, str]:
    """What a run was paid for so far, by model: tags that the UI lists and filters.

    "raptor/paid-summaries-gpt-4o-mini": "53 calls, 91,204 tokens, 0.021 USD". Money is left out
    where the model has no price. Empty where no endpoint was called.
    """
    tags = {}
    for line in _of_endpoints(ledger, settings):
        usage = line.usage
        if usage.calls and line.model:
            told = f"{usage.calls:,} calls, {usage.tokens:,} tokens"
            money = "" if usage.usd is None else f", {usage.usd:.6g} USD"
            model = re.sub(r"[^A-Za-z0-9._-]", "-", line.model)[:40]  # as a tag's key takes it
            tags[f"raptor/paid-{line.purpose}-{model}"] = told + money
    return tags


def is_dead(process: str) -> bool:
    """Whether a tagged process is known to have ended; False for another host's."""
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
"""Tag of a run that began its turn: its own id. A run that is tried again inherits its first
attempt's tags, this one with another id."""


def turn_tags(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, str]:
    """Tags of a run that began its turn in this process; none where it is a process of a step."""
    tags = process_tags(context)
    return {**tags, TURN_TAG: context.run.run_id} if tags else {}
