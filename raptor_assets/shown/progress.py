"""Progress of a run of the chain, and the costs of one partition in it."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from raptor_assets.assets.names import count_phrase
from raptor_core.models.money.usage import Usage


@dataclass(frozen=True)
class Failure:
    """Failure of a partition: asset, message, and error class (empty if a check blocked it)."""

    asset: str
    reason: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """Failed check on an asset; ``partition`` is empty for a check on all trees together."""

    asset: str
    name: str
    partition: str
    severity: str
    summary: str


def describe_failed_check_counts(failed: Iterable[FailedCheck]) -> str:
    """Count failed checks in a line: "1 error (junk_text), 3 warnings (coverage 2, store)"."""
    parts = []
    for severity, noun in (("error", "error"), ("warn", "warning")):
        counts = Counter(check.name for check in failed if check.severity == severity)
        if counts:
            named = (f"{name} {n}" if n > 1 else name for name, n in counts.most_common())
            parts.append(f"{count_phrase(counts.total(), noun)} ({', '.join(named)})")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a step over some partitions.

    Attributes:
        n_new_texts: number of texts that were embedded or written, not counting reused ones.
        failed: failures by partition.
        failed_checks: checks that failed in the step.
        completed_share: completed share of the step; 1 once it is done.
        usage: usage of endpoints by the step so far.
        waiting: partitions whose build waits for approval.
    """

    asset: str
    partitions: tuple[str, ...]
    n_rows: int
    seconds: float
    n_new_texts: int = 0
    failed: Mapping[str, Failure] = field(default_factory=dict)
    failed_checks: tuple[FailedCheck, ...] = ()
    completed_share: float = 1.0
    usage: Usage = field(default_factory=Usage)
    waiting: tuple[str, ...] = ()


Watch = Callable[[Progress], None]


def ignore_progress(_progress: Progress) -> None:
    """Ignore all progress."""


def group_by_cause(failures: Mapping[str, Failure]) -> list[tuple[list[str], Failure]]:
    """Group partitions by what stopped them; one entry may cover many partitions."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, failure in failures.items():
        groups.setdefault((failure.asset, failure.reason), []).append(name)
    return [(names, failures[names[0]]) for names in groups.values()]


class StepProgress:
    """Current step of a run; ``spent`` returns the usage of endpoints in the run so far."""

    def __init__(self, spent: Callable[[], Usage], watch: Watch) -> None:
        self._spent = spent
        self._watch = watch
        self.begin("", ())

    def begin(self, asset: str, partitions: tuple[str, ...]) -> None:
        """Begin a step."""
        self._asset, self._partitions = asset, partitions
        self._spent_at_start, self._started = self._spent(), time.monotonic()

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._started

    @property
    def usage(self) -> Usage:
        """Usage of endpoints by the step so far."""
        return self._spent() - self._spent_at_start

    def report(self, n_done: int, n_texts: int) -> None:
        """Report how many of the step's texts are done."""
        share = n_done / (n_texts + 1)  # the step continues after the last text
        at = Progress(
            self._asset,
            self._partitions,
            0,
            self.elapsed_seconds,
            completed_share=share,
            usage=self.usage,
        )
        self._watch(at)


def describe_step(done: Progress) -> str:
    """Describe a step in one line, such as "chunks: 3 partitions, 40 rows, 0.2 s"."""
    phrases = [count_phrase(len(done.partitions), "partition"), count_phrase(done.n_rows, "row")]
    phrases += [f"{done.seconds:.1f} s", *usage_phrases(done.usage), *speed_phrases(done)]
    return f"{done.asset}: {', '.join(phrases)}"


def speed_phrases(step: Progress) -> list[str]:
    """Return a phrase such as "18.2 tokens/s" for a step in which a local model writes."""
    n_tokens = 0 if step.usage.usd else step.usage.completion_tokens
    return [f"{n_tokens / step.seconds:.1f} tokens/s"] if n_tokens and step.seconds else []


def usage_phrases(usage: Usage) -> list[str]:
    """Return phrases such as "53 calls" and "0.021 USD", none without calls."""
    if not usage.calls:
        return []
    return [
        count_phrase(usage.calls, "call"),
        *([] if usage.usd is None else [f"{usage.usd:.4g} USD"]),
    ]


COUNTED = ("calls", "retries", "prompt_tokens", "completion_tokens")
"""Fields of a usage, in the order in which they are shown."""


@dataclass
class PartitionCosts:
    """Counts and usages of this run for one partition.

    Attributes:
        n_summarized, n_embedded: texts that this run wrote or embedded.
        usage: usage for these texts.
        audit_usage: usage for audits.
        paid_usage_by_layer: usage for the summaries of each layer.
    """

    n_summarized: int = 0
    n_embedded: int = 0
    usage: Usage = field(default_factory=Usage)
    audit_usage: Usage = field(default_factory=Usage)
    paid_usage_by_layer: defaultdict[int, Usage] = field(default_factory=lambda: defaultdict(Usage))

    def add_embeddings(self, n_texts: int, usage: Usage) -> None:
        """Count the texts that were embedded."""
        self.n_embedded += n_texts
        self.usage += usage

    def add_summary(self, layer: int, usage: Usage) -> None:
        """Add the usage for a summary of a layer."""
        self.usage += usage
        self.paid_usage_by_layer[layer] += usage
