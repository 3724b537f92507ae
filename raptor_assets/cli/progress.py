"""Progress of a build on standard error."""

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
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

from raptor_assets.assets.names import ChainAsset, count_phrase
from raptor_assets.shown.progress import Progress as Step
from raptor_assets.shown.progress import describe_step, speed_phrases, usage_phrases
from raptor_core.models.money.usage import Usage

LONG_STEP_SECONDS = 2.0  # without a terminal, steps that take longer are printed on a line
SPEED_SECONDS = 3600.0  # period of the mean speed from which the remaining time is estimated


class BuildProgress:
    """Progress of a build: a bar over its steps in a terminal, lines elsewhere."""

    def __init__(self, bar: Progress, console: Console, *, visible: bool) -> None:
        self._bar = bar
        self._console = console
        self._lines = visible and not console.is_terminal
        self._task = bar.add_task("reading the source", total=None, left="")
        self._steps: list[str] = []
        self._done: dict[str, float] = {}
        self._n_published = 0
        self._spent: Usage | None = None

    def show_plan(self, partitions: Collection[str], chain: Sequence[ChainAsset]) -> None:
        """Start with the partitions to build and the assets of each."""
        self._steps = [asset.name for asset in chain]
        self._done = dict.fromkeys(partitions, 0.0)
        self._n_published = 0
        text = f"{count_phrase(len(partitions), 'partition')} to build"
        total = len(partitions) * len(self._steps) or None
        self._bar.reset(self._task, total=total, description=text, left="left")
        if self._lines and partitions:
            self._console.print(text)

    def show_step(self, step: Step) -> None:
        """Show a step that is running or finished; a failed partition has no further steps."""
        at = self._steps.index(step.asset)
        is_done, is_last = step.completed_share == 1, at == len(self._steps) - 1
        self._done |= dict.fromkeys(step.partitions, at + step.completed_share)
        self._done |= dict.fromkeys(step.failed, len(self._steps))
        if is_done and is_last:
            self._n_published += len(step.partitions)
        spent = self._spent + step.usage if self._spent else step.usage
        if is_done:
            self._spent = spent
        where = f"{step.asset} of {count_phrase(len(step.partitions), 'partition')}"
        phrases = ", ".join([*usage_phrases(spent), *speed_phrases(step)])
        texts = filter(None, [where, self._published_count_phrase, phrases])
        text, completed = "; ".join(texts), sum(self._done.values())
        self._bar.update(self._task, completed=completed, description=text)
        if self._lines and is_done and (step.seconds >= LONG_STEP_SECONDS or is_last):
            line = f"{describe_step(step)}; {self._published_count_phrase}"
            self._console.print(line, markup=False, highlight=False)

    @property
    def _published_count_phrase(self) -> str:
        return f"{self._n_published} of {count_phrase(len(self._done), 'partition')} published"


@contextmanager
def open_build_progress(*, visible: bool) -> Iterator[BuildProgress]:
    """Open the progress of a build; it prints nothing unless it is visible."""
    with _copy_stderr() as file:
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
def _copy_stderr() -> Iterator[TextIO]:
    """Open a copy of standard error, because Dagster redirects the original during steps."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # replaced by a notebook or a test
        yield sys.stderr
        return
    with os.fdopen(descriptor, "w", encoding=sys.stderr.encoding, errors="replace") as file:
        yield file
