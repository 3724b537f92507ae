"""How far a run of the chain is, for whoever watches: step by step, and while one works."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from raptor_assets.names import counted
from raptor_core.models.money.usage import Usage


@dataclass(frozen=True)
class Failure:
    """Why a partition went no further: the asset at which it stopped, and the error's words.

    ``error`` is the name of the error's class, empty where a check refused the result.
    """

    asset: str
    reason: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """A step is done for some partitions, or, where ``share`` is below 1, at them.

    ``failed`` holds those that it stopped, and why. ``n_made`` counts the texts that it embedded or
    wrote; what was known is not among them. ``odd`` says by partition what the check on its
    documents found. ``usage`` is what endpoints took for the step so far.
    """

    asset: str
    partitions: tuple[str, ...]
    n_rows: int
    seconds: float
    n_made: int = 0
    failed: Mapping[str, Failure] = field(default_factory=dict)
    odd: Mapping[str, str] = field(default_factory=dict)
    share: float = 1.0
    usage: Usage = field(default_factory=Usage)


Watch = Callable[[Progress], None]


def ignore_progress(_progress: Progress) -> None:
    """Where nobody watches."""


class StepUnderWay:
    """The step that a run is at; ``spent`` says what endpoints took in the run so far."""

    def __init__(self, spent: Callable[[], Usage], watch: Watch) -> None:
        self._spent = spent
        self._watch = watch
        self.begin("", ())

    def begin(self, asset: str, partitions: tuple[str, ...]) -> None:
        """Another step begins."""
        self._asset, self._partitions = asset, partitions
        self._before, self._started = self._spent(), time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._started

    @property
    def usage(self) -> Usage:
        """What endpoints took for it so far."""
        return self._spent() - self._before

    def tell(self, n_done: int, n_texts: int) -> None:
        """Tell how far it is, in texts that it makes."""
        share = n_done / (n_texts + 1)  # what comes after the last text is work too
        at = Progress(self._asset, self._partitions, 0, self.seconds, share=share, usage=self.usage)
        self._watch(at)


def told_step(done: Progress) -> str:
    """A step in one line, such as "chunks: 3 partitions, 40 rows, 0.2 s"."""
    told = [counted(len(done.partitions), "partition"), counted(done.n_rows, "row")]
    told += [f"{done.seconds:.1f} s", *told_usage(done.usage)]
    return f"{done.asset}: {', '.join(told)}"


def told_usage(usage: Usage) -> list[str]:
    """Such as "53 calls" and "0.021 USD"; nothing where no endpoint was called."""
    if not usage.calls:
        return []
    return [counted(usage.calls, "call"), *([] if usage.usd is None else [f"{usage.usd:.4g} USD"])]
