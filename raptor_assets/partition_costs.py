"""Accounting of one partition in one run: the texts that it made, and what endpoints took.

``PartitionState`` holds the work itself; ``costs`` keeps usages in tables from run to run.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from raptor_core.models.money.usage import Usage


def _by_layer() -> defaultdict[int, Usage]:
    return defaultdict(Usage)


@dataclass
class PartitionCosts:
    """Counts and usages of this run, for one partition.

    Attributes:
        n_summarized, n_embedded: texts that this run wrote or embedded.
        usage: what they took.
        audit_usage: what audits took.
        paid: usages of a layer's summaries by content key.
        charged: all that endpoints took for a layer.
    """

    n_summarized: int = 0
    n_embedded: int = 0
    usage: Usage = field(default_factory=Usage)
    audit_usage: Usage = field(default_factory=Usage)
    paid: dict[int, dict[str, Usage]] = field(default_factory=dict)
    charged: defaultdict[int, Usage] = field(default_factory=_by_layer)

    def add_embeddings(self, layer: int, n_texts: int, usage: Usage) -> None:
        """Count the texts of a layer that were embedded."""
        self.n_embedded += n_texts
        self.usage += usage
        self.charged[layer] += usage

    def add_summaries(self, layer: int, paid: Mapping[str, Usage], *, is_metered: bool) -> None:
        """Count what a layer's summaries took, by content key."""
        known, total = self.paid.setdefault(layer, {}), sum(paid.values(), Usage())
        known |= {key: known.get(key, Usage()) + usage for key, usage in paid.items()}
        self.usage += total
        if is_metered:
            self.charged[layer] += total

    def add_audit(self, layer: int, usage: Usage) -> None:
        """Count what the audit of a layer took."""
        self.audit_usage += usage
        self.charged[layer] += usage
