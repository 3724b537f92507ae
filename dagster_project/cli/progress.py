"""How far a build is, on standard error, for people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

if TYPE_CHECKING:
    from raptor_assets.chain import Progress as Step

TOLD_SECONDS = 2.0
"""Where there is no terminal, steps that took this long get a line of their own."""


class BuildProgress:
    """Counts what is done: a bar on a terminal, lines elsewhere.

    The bar measures steps of partitions, of which each has as many as the chain has assets.
    """

    def __init__(self, bar: Progress, console: Console, *, visible: bool) -> None:
        self._bar = bar
        self._console = console
        self._lines = visible and not console.is_terminal
        self._task = bar.add_task("reading the source", total=None)
        self._steps: list[str] = []
        self._done: dict[str, int] = {}
        self._n_done = 0
        self._n_published = 0

    def plan(self, partitions: Collection[str], steps: Sequence[str]) -> None:
        """Told of what will be built, before the first step."""
        self._steps = list(steps)
        self._done = dict.fromkeys(partitions, 0)
        self._bar.update(
            self._task,
            total=len(partitions) * len(steps) or None,
            description=f"{len(partitions)} partitions to build",
        )
        if self._lines and partitions:
            self._console.print(f"{len(partitions)} partitions to build")

    def step(self, done: Step) -> None:
        """Told of each step that is done; one that failed has no further step to wait for."""
        place = self._steps.index(done.asset) + 1
        for name in done.partitions:
            self._advance(name, place)
        for name in done.failed:
            self._advance(name, len(self._steps))
        if place == len(self._steps):
            self._n_published += len(done.partitions)
        published = f"{self._n_published} of {len(self._done)} partitions published"
        following = self._steps[place] if place < len(self._steps) else done.asset
        description = f"{following} of {len(done.partitions)} partitions; {published}"
        self._bar.update(self._task, completed=self._n_done, description=description)
        if self._lines and (done.seconds >= TOLD_SECONDS or place == len(self._steps)):
            told = f"{done.asset}: {done.n_rows} rows, {done.seconds:.1f} s; {published}"
            self._console.print(told, markup=False, highlight=False)

    def _advance(self, partition: str, place: int) -> None:
        self._n_done += place - self._done.get(partition, 0)
        self._done[partition] = place


@contextmanager
def build_progress(*, visible: bool) -> Iterator[BuildProgress]:
    """The progress of one build; silent where it is not visible."""
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    hidden = not visible or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield BuildProgress(bar, console, visible=visible)
