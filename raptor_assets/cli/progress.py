"""How far a build is, on standard error, for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from raptor_assets.names import counted, layer_of
from raptor_assets.progress import Progress as Step
from raptor_assets.progress import describe_step, usage_phrases
from raptor_core.models.money.usage import Usage

TOLD_SECONDS = 2.0
"""Where there is no terminal, steps that took this long get a line of their own."""

SPEED_SECONDS = 3600.0
"""The time left follows from the mean speed of so long: steps differ, their mean less."""

_WEIGHTS = {"embeddings": 4.0, "summaries": 8.0, "findings": 2.0}
"""What a step takes beside the others of its layer, roughly; the others count 1."""

_SHRINK = 0.25
"""What a layer takes of the one below it, roughly."""


class BuildProgress:
    """Counts what is done: a bar on a terminal, lines elsewhere.

    The bar measures the steps of partitions by what they take, roughly.
    """

    def __init__(self, bar: Progress, console: Console, *, visible: bool) -> None:
        self._bar = bar
        self._console = console
        self._lines = visible and not console.is_terminal
        self._task = bar.add_task("reading the source", total=None, left="")
        self._spans: dict[str, tuple[float, float]] = {}
        self._whole = 0.0
        self._done: dict[str, float] = {}
        self._n_published = 0
        self._spent: Usage | None = None

    def plan(self, partitions: Collection[str], steps: Sequence[str]) -> None:
        """Told of what will be built, before the first step."""
        ends = list(accumulate(_weight(step) for step in steps))
        self._spans = dict(zip(steps, pairwise([0.0, *ends]), strict=True))
        self._whole = ends[-1]
        self._done = dict.fromkeys(partitions, 0.0)
        self._n_published = 0
        told = f"{counted(len(partitions), 'partition')} to build"
        total = len(partitions) * self._whole or None
        self._bar.reset(self._task, total=total, description=told, left="left")
        if self._lines and partitions:
            self._console.print(told)

    def step(self, step: Step) -> None:
        """Told of each step, at it and done; one that failed has no further step to wait for."""
        start, end = self._spans[step.asset]
        for name in step.partitions:
            self._done[name] = start + step.share * (end - start)
        self._done |= dict.fromkeys(step.failed, self._whole)
        is_done = step.share == 1
        if is_done and end == self._whole:
            self._n_published += len(step.partitions)
        spent = self._spent + step.usage if self._spent else step.usage
        if is_done:
            self._spent = spent
        told = self._told(step, spent)
        self._bar.update(self._task, completed=sum(self._done.values()), description=told)
        if self._lines and is_done and (step.seconds >= TOLD_SECONDS or end == self._whole):
            line = f"{describe_step(step)}; {self._published}"
            self._console.print(line, markup=False, highlight=False)

    def _told(self, step: Step, spent: Usage) -> str:
        where = f"{step.asset} of {counted(len(step.partitions), 'partition')}"
        return "; ".join([where, self._published, ", ".join(usage_phrases(spent))]).removesuffix(
            "; "
        )

    @property
    def _published(self) -> str:
        return f"{self._n_published} of {counted(len(self._done), 'partition')} published"


def _weight(step: str) -> float:
    return _WEIGHTS.get(step.rpartition("/")[2], 1.0) * _SHRINK ** layer_of(step)


@contextmanager
def build_progress(*, visible: bool) -> Iterator[BuildProgress]:
    """The progress of one build; silent where it is not visible."""
    with _own_standard_error() as file:
        console = Console(file=file)
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not visible or not console.is_terminal,
            speed_estimate_period=SPEED_SECONDS,
        ) as bar:
            yield BuildProgress(bar, console, visible=visible)


@contextmanager
def _own_standard_error() -> Iterator[TextIO]:
    """Standard error by a descriptor of its own.

    While a step runs, Dagster points the process's descriptor at a file, and a bar would stand.
    """
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # no file: what a notebook or a test has put in its place
        yield sys.stderr
        return
    with os.fdopen(descriptor, "w", encoding=sys.stderr.encoding, errors="replace") as file:
        yield file
