"""Accounting of one partition in one run: the texts that it made, and what endpoints took.

``PartitionState`` holds the work itself.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from raptor_core.models.money.usage import Usage

COUNTED = ("calls", "retries", "prompt_tokens", "completion_tokens")
"""Fields of a usage, in the order in which they are shown."""


@dataclass
class PartitionCosts:
    """Counts and usages of this run, for one partition.

    Attributes:
        n_summarized, n_embedded: texts that this run wrote or embedded.
        usage: what they took.
        audit_usage: what audits took.
        paid: what the summaries of a layer took.
    """

    n_summarized: int = 0
    n_embedded: int = 0
    usage: Usage = field(default_factory=Usage)
    audit_usage: Usage = field(default_factory=Usage)
    paid: defaultdict[int, Usage] = field(default_factory=lambda: defaultdict(Usage))

    def add_embeddings(self, n_texts: int, usage: Usage) -> None:
        """Count the texts that were embedded."""
        self.n_embedded += n_texts
        self.usage += usage

    def add_summary(self, layer: int, usage: Usage) -> None:
        """Count what a summary of a layer took."""
        self.usage += usage
        self.paid[layer] += usage
