"""Predicted calls of a paid judge: how many summaries a build audits, and what that costs."""

import math
from collections.abc import Mapping, Sequence

from raptor_core.models.money.usage import Usage, cost_usd, price_of
from raptor_core.rebuild.expected_layers import USUAL_CHILDREN
from raptor_core.rebuild.values import NOTHING, LayerPlan, TreePlan
from raptor_core.settings import Settings

PROMPT_TOKENS = 450
"""Tokens of a judge's instructions and of the form of its answer."""
ANSWER_TOKENS = 80
"""Usual tokens of an answer."""

Judged = Mapping[tuple[str, int], int]
"""Number of summaries that the present judge has judged already, by tree and layer."""


def plan_audits(
    trees: Sequence[TreePlan], judged: Judged, settings: Settings
) -> tuple[Usage, Usage]:
    """Predict what the audits of planned trees cost.

    Args:
        trees: plans of the trees that a build makes.
        judged: what need not be judged again.
        settings: settings with the judge, the sample and the prices.

    Returns:
        The usage to expect, and the most that it can be: every sampled summary is judged, and
        each answer is invalid until ``audit.max_retries`` is reached. Nothing for a judge that is
        free.
    """
    if settings.audit.judge != "llm":
        return NOTHING, NOTHING
    expected = most = 0
    for tree in trees:
        for layer in tree.layers if tree.action != "drop" else ():
            n_known = judged.get((tree.tree, layer.layer), 0)
            few, many = _fresh(layer, n_known, settings)
            expected, most = expected + few, most + many
    attempts = most * (1 + settings.audit.max_retries)
    return (
        _usage(expected, ANSWER_TOKENS, settings),
        _usage(attempts, settings.audit.max_tokens, settings),
    )


def _fresh(layer: LayerPlan, n_known: int, settings: Settings) -> tuple[int, int]:
    """Return the expected number of summaries of a layer to judge, and the greatest."""
    n_nodes = layer.n_kept + layer.n_added
    checks = settings.checks
    n_sampled = min(n_nodes, max(checks.audit_minimum, math.ceil(checks.audit_rate * n_nodes)))
    if not n_known:
        return n_sampled, n_sampled
    if not (layer.n_added or layer.n_removed):
        return max(0, n_sampled - n_known), max(0, n_sampled - n_known)
    return min(n_sampled, math.ceil(n_sampled * layer.n_added / n_nodes)), n_sampled


def _usage(n_calls: int, answer_tokens: int, settings: Settings) -> Usage:
    summary = settings.summarizer.max_tokens
    sources = USUAL_CHILDREN * (settings.chunking.max_tokens + summary) / 2
    prompt = round(n_calls * (PROMPT_TOKENS + sources + summary))
    completion, price = n_calls * answer_tokens, price_of(settings.audit, settings)
    usd = cost_usd(price, prompt, completion) if n_calls else 0.0
    return Usage(n_calls, prompt, completion, usd=usd)
