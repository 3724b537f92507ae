"""One phase of `scale.py` in this process: what it took in CPU seconds and memory."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from fixed_work import FixedWork
from measuring import cpu_seconds, own_bytes, peak_bytes
from random_embedder import RandomEmbedder


def run_phase(arguments: argparse.Namespace) -> dict[str, Any]:
    """One phase in this process; the seconds and memory before it are told apart."""
    from raptor_assets.home.folder import Home
    from raptor_assets.local import build, code_location, forecast  # noqa: F401 - imports are not measured

    home = Home(arguments.root / "home")
    if not home.settings_path.exists():
        home.create(sources=[str(arguments.root / "source")])
    settings, components = _components(home, arguments)
    components.embedder.embed(["a text"])
    before = {"cpu": cpu_seconds(), "own": own_bytes()}
    started = time.perf_counter()
    with OwnMemory() as memory:
        if arguments.profile:
            import cProfile

            profile = cProfile.Profile()
            result = profile.runcall(_run, arguments.phase, home, settings, components)
            profile.dump_stats(arguments.profile / f"{arguments.phase.replace(' ', '-')}.prof")
        else:
            result = _run(arguments.phase, home, settings, components)
    return {
        "wall": time.perf_counter() - started,
        "cpu": cpu_seconds() - before["cpu"] - result.pop("cpu_beside", 0.0),
        "own_before": before["own"],
        "own": memory.peak,
        "rss": peak_bytes(),
        **result,
    }


def _components(home: Any, arguments: argparse.Namespace) -> tuple[Any, Any]:
    from raptor_core import Components

    settings = home.load_settings()
    values = settings.model_dump()
    values["grouping"]["shards"] = arguments.shards
    if arguments.embedder == "random":
        values["checks"] |= {"audit_rate": 0.0, "audit_minimum": 0}
    if arguments.light:
        values["components"] |= {"clusterer": "raptor_lab.clustering:make_contiguous"}
        values["tree"] |= {"max_layers": 2}
    settings = type(settings).model_validate(values)
    embedder: Any = RandomEmbedder() if arguments.embedder == "random" else None
    return settings, Components(settings, embedder=embedder)


def _run(phase: str, home: Any, settings: Any, components: Any) -> dict[str, Any]:
    from raptor_assets.home.access import CorpusAccess

    if phase.startswith("look"):
        changes = CorpusAccess(settings, home, components=components).changes()
        return {"n_unchanged": len(changes.unchanged), "n_to_build": len(changes.to_build)}
    if phase == "plan":
        from raptor_assets.home.source_state import rescan
        from raptor_assets.local.forecast import forecast_build

        tables = CorpusAccess(settings, home).tables
        plan = forecast_build(
            home, settings, rescan(tables, settings.source), components=components
        ).plan
        return {"n_calls": plan.summary_usage.calls}
    return _build(home, settings, components)


def _build(home: Any, settings: Any, components: Any) -> dict[str, Any]:
    from raptor_assets.local.build import build

    with FixedWork() as work:
        watch = Watch(home.path.parent / "source", work)
        report = build(home, settings, components=components, on_progress=watch)
    return {
        "n_built": len(report.built),
        "failed": {name: failure.reason for name, failure in list(report.failed.items())[:5]},
        "n_runs": len(report.run_ids),
        "cpu_beside": work.cpu_seconds,
        "stages": dict(watch.stages),
        "batches": watch.batches,
        "embedder_cpu": getattr(components.embedder, "seconds", None),
    }


class Watch:
    """CPU seconds by kind of step, and what each batch took."""

    def __init__(self, source: Path, work: FixedWork) -> None:
        self.stages: Counter[str] = Counter()
        self.batches: list[dict[str, float]] = []
        self._source = source
        self._work = work
        self._at_step = self._at_batch = cpu_seconds()
        self._time = time.time()
        self._done = 0

    def __call__(self, progress: Any) -> None:
        """A step is done."""
        now = cpu_seconds()
        self.stages[progress.asset.rsplit("/", 1)[-1]] += now - self._at_step
        self._at_step = now
        if progress.asset == "tree_report":
            self._batch(progress.partitions, now)

    def _batch(self, partitions: Sequence[str], now: float) -> None:
        self._done += len(partitions)
        files = [self._source / name for name in partitions]
        batch = {
            "done": self._done,
            "partitions": len(partitions),
            "bytes": sum(file.stat().st_size for file in files if file.exists()),
            "cpu": now - self._at_batch,
            "slowdown": self._work.slowdown(self._time, time.time()),
            "own": own_bytes(),
        }
        self._at_batch, self._time = now, time.time()
        self.batches.append(batch)
        told = "{done} partitions; last batch {bytes} bytes, {cpu:.0f} s CPU, machine slowed by "
        memory = "{slowdown:.2f}; {own} bytes of memory in use"
        print((told + memory).format(**batch), file=sys.stderr, flush=True)


class OwnMemory:
    """The most of it while the block runs, looked at once a second."""

    def __init__(self) -> None:
        self.peak = own_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._done.wait(1.0):
            self.peak = max(self.peak, own_bytes())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._done.set()
        self._thread.join()
