"""Crowds at one store, and Dagster's own processes killed in a run."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from hostile_home import (
    PATIENCE_SECONDS,
    ROOT,
    BrokenPromiseError,
    Row,
    environment,
    new_home,
    raptor,
    require,
    write,
)

N_PUBLISHERS, N_READERS, N_ROUNDS = 2, 20, 8
N_DOCUMENTS, N_SENTENCES = 13, 120


def crowd(folder: Path, _arguments: argparse.Namespace) -> Iterator[Row]:
    """Two publishers and twenty readers, a process each."""
    from support.stores import open_at, publish, rebuild

    with open_at(folder) as store:
        for tree in ("one", "two"):
            publish(store, rebuild(tree, 0), tree)
    with ExitStack() as stack:
        readers = [
            stack.enter_context(_actor("read_until_told", folder, "auto")) for _ in range(N_READERS)
        ]
        for reader in readers:
            require(reader.stdout.readline() == "reading\n", "a reader did not begin")
        publishers = [
            stack.enter_context(
                _actor("publish_rebuilds", folder, "auto", 100 * n + 1, 100 * n + 1 + N_ROUNDS)
            )
            for n in range(N_PUBLISHERS)
        ]
        for publisher in publishers:
            publisher.communicate(timeout=PATIENCE_SECONDS)
            require(publisher.returncode == 0, "a publisher failed")
        found = [json.loads(r.communicate("enough\n", PATIENCE_SECONDS)[0]) for r in readers]
    wrong = [told for reader in found for told in reader["wrong"]]
    require(not wrong, f"{len(wrong)} faults, first:", *wrong[:1])
    n_builds = [reader["n_builds"] for reader in found]
    yield Row(
        f"{N_PUBLISHERS} publishers and {N_READERS} readers on one embedded home, a process each; "
        f"{N_ROUNDS} rounds of each publisher over the same two trees",
        "every read is of one build, whole",
        "as promised, every read of every reader",
        f"each reader saw {min(n_builds)} to {max(n_builds)} builds",
    )


@contextmanager
def _actor(action: str, *arguments: object) -> Iterator[Any]:
    script = ROOT / "tests" / "support" / "store_process.py"
    process = subprocess.Popen(
        [sys.executable, str(script), action, *map(str, arguments)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def daemon_killed(folder: Path, _arguments: argparse.Namespace) -> Iterator[Row]:
    """The daemon, then the web server, killed in a run that the sensor asked for."""
    for name, module in (("daemon", "dagster._daemon"), ("web server", "dagster_webserver")):
        root = folder / module
        docs = new_home(root)
        write(docs, 1, N_DOCUMENTS, N_SENTENCES)
        with _ui(root / "home") as log:
            run = _wait(lambda root=root: _run_of(root / "home", "STARTED"), log)
            victim = _wait(lambda root=root, m=module: _process(root / "home", m), log)
            os.kill(victim, signal.SIGKILL)
            killed = time.monotonic()
            _wait(lambda root=root: _run_of(root / "home", "SUCCESS"), log)
            seconds = time.monotonic() - killed
        again = raptor(root / "home", "build", "--json")
        require(again.code == 0 and not again.json["built"], "work was left:", again.told)
        require(len(again.json["unchanged"]) == N_DOCUMENTS, again.told)
        yield Row(
            f"`kill -9` of the {name} under `raptor ui`, in a run of {N_DOCUMENTS} documents that "
            "the sensor asked for",
            "the run goes on: it is a process of its own, which they only watch",
            "as promised; the next build had nothing to do",
            f"run {run[:8]} ended well {seconds:.0f} s after the kill",
        )


@contextmanager
def _ui(home: Path) -> Iterator[Path]:
    """`raptor ui` on a home; all processes of the home end with it."""
    from support.ports import free_port

    log, mark = home / "ui.log", str(home)
    command = [sys.executable, "-c", "from raptor_assets.cli import main; main()", "ui"]
    command.append("--watch")
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--home", mark, "--port", str(free_port())],
            env=environment(RAPTOR_HOME=mark),
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield log
    finally:
        for pid in (process.pid, *_processes(home)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _processes(home: Path) -> list[int]:
    """Processes that work on this home: it is in the environment of each, and of nobody else's."""
    mark = f"RAPTOR_HOME={home}\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes() + b"\0":
                found.append(int(path.parent.name))
    return found


def _process(home: Path, module: str) -> int | None:
    """The process of this home that runs a module, not counting those that watch it."""
    for pid in sorted(_processes(home)):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if words[1:3] == ["-m", module]:
                return pid
    return None


def _run_of(home: Path, status: str) -> str | None:
    """Id of the latest run of the job that builds, if it is in this state; a failed one is told."""
    import dagster as dg

    from raptor_assets.project.home import Home
    from raptor_assets.project.records import open_records

    if not (home / "dagster" / "schedules" / "schedules.db").exists():
        return None
    with open_records(Home(home).dagster) as instance:
        runs = instance.get_runs(dg.RunsFilter(job_name="build"))
    states = [run.status.value for run in runs]
    require("FAILURE" not in states and "CANCELED" not in states, "the run ended badly:", states)
    done = [run.run_id for run in runs if run.status.value == status]
    return done[0] if done and (status != "SUCCESS" or set(states) == {status}) else None


def _wait(reached: Callable[[], Any], log: Path) -> Any:
    last = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < last:
        found = reached()
        if found:
            return found
        time.sleep(0.3)
    raise BrokenPromiseError(f"nothing came in {PATIENCE_SECONDS} s: {log.read_text()[-600:]}")
