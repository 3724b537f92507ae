"""The golden set after a run: a check on all published trees together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dagster as dg

from raptor_assets import keys
from raptor_assets.check_history import past_values
from raptor_assets.evaluations import evaluation
from raptor_assets.names import CorpusNames
from raptor_assets.run_context import RunContext
from raptor_core.errors import RaptorError
from raptor_core.evaluation.golden import (
    GOLDEN_RETRIEVAL,
    GoldenCase,
    evaluate_golden,
    measure_golden,
)
from raptor_core.quality.verdicts import Verdict
from raptor_core.retrieval import Query

GOLDEN_KEY = dg.AssetCheckKey(keys.TREE, GOLDEN_RETRIEVAL.name)


def golden_events(
    context: RunContext,
    cases: Sequence[GoldenCase],
    instance: dg.DagsterInstance,
    corpus: CorpusNames,
) -> Iterator[dg.AssetCheckEvaluation]:
    """The check's evaluation, of no partition.

    When the questions cannot be asked, it warns and gives none: what is published stays so.
    """
    try:
        verdict = golden_verdict(context, cases, instance, corpus)
    except RaptorError as error:
        context.warn(f"the golden set was not measured: {error}")
        return
    if verdict is not None:
        yield evaluation(keys.TREE, None, verdict, blocking=False)


def golden_verdict(
    context: RunContext,
    cases: Sequence[GoldenCase],
    instance: dg.DagsterInstance,
    corpus: CorpusNames,
) -> Verdict | None:
    """Verdict on what readers see; None while they see another embedder's collection.

    Raises:
        StoreError: the store cannot be opened.
        EndpointError: the embedder's endpoint failed for good.
    """
    with context.store.open() as store:
        if not store.live:
            return None
    query = Query.from_settings(context.settings)
    report = measure_golden(cases, context.components.embedder, context.store.open, query)
    check = dg.AssetCheckKey(keys.shown(corpus, keys.TREE), GOLDEN_RETRIEVAL.name)
    past = past_values(instance, check, "hit_rate", context.settings.checks.history_builds)
    return evaluate_golden(report, context.settings.checks, past)
