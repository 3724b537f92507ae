"""The check that every number and name in a chat model's summary is in a leaf below it.

``raptor_core.audit.facts`` finds foreign facts; the setting ``summarizer.foreign_facts`` decides
what a build does about them, and ``registry.layer_checks`` how severe they are.
"""

from raptor_core.audit.facts import separate_foreign_facts
from raptor_core.checks.base import CheckedLayer, CheckMeasurement, WorstNode, check
from raptor_core.curation import CURATED


@check(
    "foreign_facts",
    "error",
    "No summary of a chat model contains a number, date, code or name that no leaf below it "
    "contains.",
)
def foreign_facts(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the number of foreign facts in summaries that a chat model wrote."""
    written = [node for node in layer.written_by_model if CURATED not in node.quality]
    checked = [node for node in written if node.id in layer.leaf_texts]
    found = [
        (node, separate_foreign_facts(node.text, layer.leaf_texts[node.id]).facts)
        for node in checked
    ]
    foreign = sorted((pair for pair in found if pair[1]), key=lambda pair: -len(pair[1]))
    n_facts = sum(len(facts) for _, facts in foreign)
    numbers = {"summaries": len(checked), "with_foreign": len(foreign), "foreign": n_facts}
    summary = (
        f"{len(foreign)} of {len(checked)} summaries contain {n_facts} facts that no leaf below "
        "them contains (none is allowed)."
    )
    worst = (WorstNode.from_node(node, len(facts), ", ".join(facts[:6])) for node, facts in foreign)
    return CheckMeasurement(
        not foreign,
        summary,
        numbers,
        worst,
        'Set summarizer.foreign_facts = "remove", which removes such sentences, and build again.',
    )
