"""Prediction of how many summaries a paid judge audits in a build, and what that costs."""

import math
from collections.abc import Mapping, Sequence

from raptor_core.models.money.usage import Usage, cost_usd, find_chat_model_price
from raptor_core.rebuild.expected_layers import USUAL_CHILDREN
from raptor_core.rebuild.values import NOTHING, LayerPlan, TreePlan
from raptor_core.settings import Settings

PROMPT_TOKENS = 450
"""Tokens of a judge's instructions, with the schema of its answer."""
ANSWER_TOKENS = 80
"""Typical tokens of an answer."""

Judged = Mapping[tuple[str, int], int]
"""Number of summaries that the current judge has already judged, by tree and layer."""


def predict_audit_usage(
    trees: Sequence[TreePlan], judged: Judged, settings: Settings
) -> tuple[Usage, Usage]:
    """Predict what the audits of planned trees cost.

    Args:
        trees: plans of the trees that a build makes.
        judged: summaries that need not be judged again.
        settings: settings with the judge, the sample and the prices.

    Returns:
        The expected usage and the worst case, in which every sampled summary is judged and all
        answers are invalid until ``audit.max_retries`` is reached. Both are 0 for a judge that is
        free.
    """
    if settings.audit.judge != "llm":
        return NOTHING, NOTHING
    expected = most = 0
    for tree in trees:
        for layer in tree.layers if tree.action != "drop" else ():
            n_judged = judged.get((tree.tree, layer.layer), 0)
            n_expected, n_most = _count_summaries_to_judge(layer, n_judged, settings)
            expected, most = expected + n_expected, most + n_most
    attempts = most * (1 + settings.audit.max_retries)
    return (
        _judging_usage(expected, ANSWER_TOKENS, settings),
        _judging_usage(attempts, settings.audit.max_tokens, settings),
    )


def _count_summaries_to_judge(
    layer: LayerPlan, n_judged: int, settings: Settings
) -> tuple[int, int]:
    """Return the expected and the maximum number of summaries of a layer to judge."""
    n_nodes = layer.n_kept + layer.n_added
    checks = settings.checks
    n_sampled = min(n_nodes, max(checks.audit_minimum, math.ceil(checks.audit_rate * n_nodes)))
    if not n_judged:
        return n_sampled, n_sampled
    if not (layer.n_added or layer.n_removed):
        return max(0, n_sampled - n_judged), max(0, n_sampled - n_judged)
    return min(n_sampled, math.ceil(n_sampled * layer.n_added / n_nodes)), n_sampled


def _judging_usage(n_calls: int, answer_tokens: int, settings: Settings) -> Usage:
    summary = settings.summarizer.max_tokens
    sources = USUAL_CHILDREN * (settings.chunking.max_tokens + summary) / 2
    prompt = round(n_calls * (PROMPT_TOKENS + sources + summary))
    completion, price = n_calls * answer_tokens, find_chat_model_price(settings.audit, settings)
    usd = cost_usd(price, prompt, completion) if n_calls else 0.0
    return Usage(n_calls, prompt, completion, usd=usd)
