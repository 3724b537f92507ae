"""Wall time of the summaries of a build against the least that the endpoint allows.

The endpoint is the tests' stand-in in a process of its own: 1.0 s for an answer, 5 % of the
requests turned away at once with 429 and a retry-after of 0.1 s, 2 % answered with 500 after the
whole second. The least is the number of waves: for each layer its summaries over the concurrency,
rounded up, times 1.0 s. "Ours" is a build of many small trees with everything around it; "thread
pool" sends as many requests, layer by layer, by a pool with the client's own two retries;
"sequential" sends a part of them one by one, and its time is scaled to all. The aim is 1.25 times
the least and the process's own CPU time; "of the aim" is at most 1 where it is reached.

    python benchmarks/llm.py [--trees 40 --leaves 120 --concurrency 64 --seeds 3]
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

SECONDS_PER_CALL = 1.0
RETRY_AFTER_MS = 100
LIMITED, BROKEN = 0.05, 0.02
FACTOR = 1.25
"""Target for the wall time, as a multiple of the minimum plus this process's CPU time."""
HEADING = """\
| client | made | lost | requests (429, 500) | at once | s | CPU s | over least | of the aim | \
times as fast as sequential |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
SEQUENTIAL_CALLS = 12
WORDS = ["river", "castle", "engine", "window", "forest", "winter", "silver", "bridge", "garden"]


def serve(seed: int) -> None:
    """Run the stand-in until standard input ends; print its address, and last what it answered."""
    from support.openai_faults import Fault
    from support.openai_server import FakeOpenAI, Seen

    rng, counts = random.Random(seed), {"limited": 0, "broken": 0}

    def refuse(_seen: Seen) -> Fault | None:
        drawn = rng.random()
        if drawn < LIMITED:
            counts["limited"] += 1
            headers = (("retry-after-ms", str(RETRY_AFTER_MS)),)
            return Fault(status=429, headers=headers, at_once=True)
        if drawn < LIMITED + BROKEN:
            counts["broken"] += 1
            return Fault.error(500)
        return None

    with FakeOpenAI(delay_seconds=SECONDS_PER_CALL, refuse=refuse) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
        print(server.n_requests, counts["limited"], counts["broken"], server.peak, flush=True)


@contextmanager
def endpoint(seed: int) -> Iterator[tuple[str, list[int]]]:
    """Address of a fresh stand-in; the list holds its counts afterwards."""
    command = [sys.executable, __file__, "--serve", str(seed)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        counts: list[int] = []
        yield process.stdout.readline().strip(), counts
        process.stdin.close()
        counts += map(int, process.stdout.readline().split())


@dataclass
class Measured:
    """Seconds by the clock and of this process's CPU, summaries made and lost, requests."""

    wall: float
    cpu: float
    made: int
    lost: int
    counts: list[int]


def timed(work: Callable[[], tuple[int, int]], counts: list[int]) -> Measured:
    wall, cpu = time.perf_counter(), time.process_time()
    made, lost = work()
    return Measured(time.perf_counter() - wall, time.process_time() - cpu, made, lost, counts)


def ours(url: str, trees: int, leaves: int, concurrency: int) -> tuple[list[int], tuple[int, int]]:
    """Sizes of the summary layers of all trees together; and summaries made, none lost."""
    from support.paid_build import make_components, paid_settings

    from raptor_core.documents.base import Document
    from raptor_core.tree.build import build_trees

    rng = random.Random(0)

    def document(name: str) -> Document:
        texts = (" ".join(rng.choices(WORDS, k=16)).capitalize() + "." for _ in range(leaves))
        return Document(name, "\n\n".join(texts))

    settings = paid_settings(
        url,
        components={"clusterer": "raptor_lab.clustering:make_contiguous"},
        summarizer={"concurrency": concurrency},
    )
    sizes: list[int] = []

    def told(step: str, n_nodes: int) -> None:
        if step.endswith("summaries") and n_nodes:
            sizes.append(n_nodes)

    build_trees(
        {f"t{n}": [document(f"t{n}.md")] for n in range(trees)},
        components=make_components(settings),
        progress=told,
    )
    return sizes, (sum(sizes), 0)


def plain(url: str, sizes: list[int], concurrency: int) -> tuple[int, int]:
    """A pool of threads over each layer; what fails after the client's own retries is lost."""
    import openai

    client = openai.OpenAI(api_key="none", base_url=url)
    lost = 0

    def call(n: int) -> bool:
        try:
            client.chat.completions.create(
                model="small",
                messages=[{"role": "user", "content": f"Summarize text {n}: " + "word " * 80}],
                max_tokens=60,
            )
        except openai.APIError:
            return False
        return True

    with ThreadPoolExecutor(concurrency) as pool:
        for size in sizes:
            lost += sum(not made for made in pool.map(call, range(size)))
    return sum(sizes) - lost, lost


def row(name: str, got: Measured, least: float, base: float) -> str:
    n_requests, limited, broken, peak = got.counts
    allowed = FACTOR * least + got.cpu
    return (
        f"| {name} | {got.made} | {got.lost} | {n_requests} ({limited}, {broken}) | {peak} | "
        f"{got.wall:.1f} | {got.cpu:.1f} | {got.wall / least:.2f} | {got.wall / allowed:.2f} | "
        f"{base / got.wall:.1f} |"
    )


def measure(seed: int, trees: int, leaves: int, concurrency: int) -> list[str]:
    """Heading and rows of a table; every client meets a fresh endpoint with the same seed."""
    sizes: list[int] = []

    def build() -> tuple[int, int]:
        found, done = ours(url, trees, leaves, concurrency)
        sizes.extend(found)
        return done

    with endpoint(seed) as (url, counts):
        mine = timed(build, counts)
    with endpoint(seed) as (url, counts):
        pool = timed(lambda: plain(url, sizes, concurrency), counts)
    with endpoint(seed) as (url, counts):
        one = timed(lambda: plain(url, [SEQUENTIAL_CALLS], 1), counts)
    scale = sum(sizes) / SEQUENTIAL_CALLS
    one.wall, one.cpu = one.wall * scale, one.cpu * scale
    waves = sum(math.ceil(size / concurrency) for size in sizes)
    least = waves * SECONDS_PER_CALL
    return [
        f"\nSeed {seed}: layers of {sizes} summaries, concurrency {concurrency}, {waves} waves.\n",
        HEADING,
        row("ours, the whole build", mine, least, one.wall),
        row("thread pool, the requests alone", pool, least, one.wall),
        row(f"sequential, {SEQUENTIAL_CALLS} calls scaled to all", one, least, one.wall),
    ]


def warm() -> None:
    """What is loaded and compiled once in a process, on a healthy endpoint without a delay."""
    from support.openai_server import FakeOpenAI

    with FakeOpenAI() as server:
        ours(server.base_url, 1, 20, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--leaves", type=int, default=120)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--serve", type=int, default=None, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return
    warm()
    for seed in range(given.seeds):
        lines = measure(seed, given.trees, given.leaves, given.concurrency)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
