"""A progress bar on standard error, for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from raptor_assets.chain import Progress as Step


@contextmanager
def build_progress(*, visible: bool) -> Iterator[Callable[[Step], None]]:
    """A bar over the partitions that are published, with the step that is under way.

    It is drawn on terminals only.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not visible) as bar:
        task = bar.add_task("reading the source", total=None)

        def tell(step: Step) -> None:
            names = f"{len(step.partitions)} partitions"
            bar.update(task, description=f"{step.asset}: {step.n_rows} rows of {names}")

        yield tell
