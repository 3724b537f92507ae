"""Processes of tests' own: begun with a log, waited for, and ended with all their children."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.stores import PROCESS_PATH

PATIENCE_SECONDS = 400
END_SECONDS = 20


@contextmanager
def process_of(
    command: Sequence[str],
    folder: Path,
    log: Path,
    environ: Mapping[str, str],
    gently: signal.Signals = signal.SIGTERM,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, in a folder; ``gently`` asks it to end, then force does."""
    with log.open("w") as file:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environ, "PYTHONPATH": PROCESS_PATH},
            cwd=folder,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, gently)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it began, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(END_SECONDS)


def wait_until(
    reached: Callable[[], object], logs: Sequence[Path], needed: Sequence[subprocess.Popen] = ()
) -> None:
    """Wait for something that processes do; fail with their logs when it takes too long.

    It fails at once where one of ``needed`` has ended.
    """
    last = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > last or any(process.poll() is not None for process in needed):
            pytest.fail("\n".join(f"{log.name}: {log.read_text()[-3000:]}" for log in logs))
        time.sleep(0.2)
