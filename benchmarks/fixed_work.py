"""A fixed job beside what is measured, which tells how busy the machine was meanwhile.

On a machine that other work shares, the same instructions take more CPU seconds: caches and clock
are shared too. The job's own CPU seconds rise alike, so seconds are told as they would be where the
job takes what it takes at its quickest.
"""

from __future__ import annotations

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

PAUSE_SECONDS = 0.7
QUICKEST = 0.05
"""Share of the samples that are taken for undisturbed."""


class FixedWork:
    """Runs the job in a process of its own as long as the block does."""

    cpu_seconds = 0.0
    """What all of it took; known at the end."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="fixed-work-")
        self._log = Path(self._folder.name) / "samples"
        self._log.touch()
        command = [sys.executable, __file__, str(self._log)]
        self._process = subprocess.Popen(command)
        return self

    def __exit__(self, *_error: object) -> None:
        before = _children_seconds()
        self._process.terminate()
        self._process.wait()
        self.cpu_seconds = _children_seconds() - before
        self._folder.cleanup()

    def slowdown(self, begin: float, end: float) -> float:
        """How much longer the job took between two times (``time.time``) than at its quickest."""
        lines = [line.split() for line in self._log.read_text().splitlines()]
        samples = [(float(at), float(seconds)) for at, seconds in lines]
        between = [seconds for at, seconds in samples if begin <= at < end]
        if not between:
            return 1.0
        ordered = sorted(seconds for _, seconds in samples)
        return sum(between) / len(between) / ordered[int(QUICKEST * len(ordered))]


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(log: Path) -> None:
    """Write the time and the job's CPU seconds, line by line, until the process is ended."""
    import numpy as np

    draw = random.Random(0)
    text = " ".join("".join(draw.choices("abcdefghij", k=6)) for _ in range(4000))
    rows = np.random.default_rng(0).standard_normal((300, 384), dtype=np.float32)
    places = np.random.default_rng(1).integers(0, 4_000_000, 200_000)
    memory = np.zeros(4_000_000, dtype=np.float32)
    with log.open("a", buffering=1) as lines:
        while True:
            started = time.thread_time()
            counts: dict[str, int] = {}
            for word in re.findall(r"\w+", text):
                counts[word] = counts.get(word, 0) + 1
            json.loads(json.dumps(counts))
            np.einsum("ij,kj->", rows[:40], rows)
            memory[places].sum()
            lines.write(f"{time.time():.3f} {time.thread_time() - started:.6f}\n")
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
