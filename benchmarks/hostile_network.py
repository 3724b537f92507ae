"""Servers in a network namespace, whose link goes down in the middle of a build.

Packets vanish then: nothing is refused and no connection is reset, which is what a namespace adds
to a closed socket. Qdrant is a real server where one is found, the LLM a stand-in; the builds are
processes of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hostile_home import (
    PATIENCE_SECONDS,
    ROOT,
    LeftOutError,
    Row,
    environment,
    new_home,
    require,
    seen,
    write,
)

HERE, THERE = "198.18.77.1", "198.18.77.2"
"""Of the range that is kept for benchmarks."""

SERVERS = Path(__file__).with_name("hostile_servers.py")
CONCURRENCY = 3
SHORT_SECONDS = 2.5
POINTS = {
    "a look-up": '"key":"embedding_key"',
    "publication": '"state":"manifest"',
    "an LLM call": '"messages"',
}
_MORE = """
[store]
kind = "server"
url = "http://{host}:{store}"
timeout_seconds = 2
max_retries = 2
[summarizer]
kind = "openai"
model = "small"
base_url = "http://{host}:{endpoint}/v1"
concurrency = {concurrency}
timeout_seconds = 2
max_retries = 3
down_after = 6
down_seconds = 4
"""


def network_cut(folder: Path, _arguments: argparse.Namespace) -> Iterator[Row]:
    """For good and for a while, at each point of a build."""
    with _servers() as there:
        more = _MORE.format(
            host=THERE, store=there.ports[0], endpoint=there.ports[1], concurrency=CONCURRENCY
        )
        docs = new_home(folder, more)
        write(docs, 0, n_sentences=24)
        code, out = _built(folder)
        require(code == 0, "the first build failed:", out)
        for seed, point in enumerate(POINTS, 1):
            write(docs, seed, n_sentences=24)
            yield _cut_for_good(folder, there, point)
        for seed, point in enumerate(POINTS, 11):
            write(docs, seed, n_sentences=24)
            yield _cut_for_a_while(folder, there, point)


def _cut_for_good(folder: Path, there: _There, point: str) -> Row:
    before, asked = seen(folder / "home"), there.prompts()
    build = there.build_and_cut(folder, point)
    started = time.monotonic()
    out = _end(build)
    seconds = time.monotonic() - started
    require(build.returncode not in (0, -6, -9, -11), f"it ended with {build.returncode}:", out)
    reasons = [failure["reason"] for failure in json.loads(out)["failed"].values()]
    require(reasons and all(THERE in reason for reason in reasons), "the cut is not told:", out)
    there.link("up")
    paid = there.prompts()[len(asked) :]
    between = seen(folder / "home")
    code, out = _built(folder)
    require(code == 0, "the next build failed:", out)
    after = seen(folder / "home")
    for tree, build_id in between.items():
        require(build_id in (before[tree], after[tree]), f"{tree} was published half")
        require(after[tree] != before[tree], f"{tree} is not new")
    again = set(there.prompts()[len(asked) + len(paid) :]) & set(paid)
    allowed = CONCURRENCY if point == "an LLM call" else 0
    require(len(again) <= allowed, f"{len(again)} prompts were paid again")
    return Row(
        f"the link to Qdrant and LLM goes down in {point}, for good",
        "told with address and remedy in bounded time; nothing is published half; the next build "
        "completes it and pays for no answer that came again",
        "as promised",
        f"told after {seconds:.0f} s; {len(paid)} calls before, of which {len(again)} had lost "
        "their answers and were made again",
    )


def _cut_for_a_while(folder: Path, there: _There, point: str) -> Row:
    before = seen(folder / "home")
    build = there.build_and_cut(folder, point)
    started = time.monotonic()
    threading.Timer(SHORT_SECONDS, there.link, ["up"]).start()
    out = _end(build)
    seconds = time.monotonic() - started
    require(build.returncode == 0, "a short cut was not waited for:", out)
    after = seen(folder / "home")
    require(all(after[tree] != before[tree] for tree in before), "not all trees are new")
    return Row(
        f"the link goes down in {point}, for {SHORT_SECONDS:g} s",
        "the build waits and ends well",
        "as promised",
        f"it ended {seconds:.0f} s after the cut",
    )


class _There:
    """The servers' process, and the link to it."""

    def __init__(self, space: str, device: str, process: Any) -> None:
        self._space, self._device, self._process = space, device, process
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.ports: list[int] = json.loads(self._line())

    def _listen(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)

    def _line(self) -> str:
        return self._lines.get(timeout=PATIENCE_SECONDS)

    def ask(self, *words: str) -> Any:
        """What the process answers to a line."""
        self._tell(*words)
        return json.loads(self._line())

    def _tell(self, *words: str) -> None:
        self._process.stdin.write("\0".join(words) + "\n")
        self._process.stdin.flush()

    def prompts(self) -> list[str]:
        """What the endpoint was asked so far."""
        found: list[str] = self.ask("prompts")
        return found

    def build_and_cut(self, folder: Path, point: str) -> subprocess.Popen[str]:
        """Begin a build, and take the link down as its request is served."""
        self._tell("watch", POINTS[point])
        process = _begin(folder)
        try:
            require(json.loads(self._line()) == "cut", "the servers say something else")
        except queue.Empty:
            process.kill()
            require(False, f"no request came for {point}:", process.communicate()[0])
        self.link("down")
        self._tell("go")
        return process

    def link(self, state: str) -> None:
        """Take the servers' end of the link down, or up again."""
        _ip("-n", self._space, "link", "set", self._device, state)


def _begin(folder: Path) -> subprocess.Popen[str]:
    script = ROOT / "tests" / "support" / "build_process.py"
    return subprocess.Popen(
        [sys.executable, str(script), "build", str(folder)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _end(process: subprocess.Popen[str]) -> str:
    try:
        return process.communicate(timeout=PATIENCE_SECONDS)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        require(False, f"the build hangs: it had not ended after {PATIENCE_SECONDS} s")
        raise


def _built(folder: Path) -> tuple[int, str]:
    process = _begin(folder)
    out = _end(process)
    return process.returncode, out


@contextmanager
def _servers() -> Iterator[_There]:
    """The stand-ins in a namespace of their own, which goes with them."""
    space, here, there = f"hostile-{os.getpid()}", f"h{os.getpid()}a", f"h{os.getpid()}b"
    with ExitStack() as stack:
        _ip("netns", "add", space)
        stack.callback(_ip, "netns", "del", space)
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", space)
        stack.callback(_ip, "link", "del", here)  # a space that is gone may keep it for a while
        _ip("addr", "add", f"{HERE}/30", "dev", here)
        _ip("link", "set", here, "up")
        _ip("-n", space, "addr", "add", f"{THERE}/30", "dev", there)
        _ip("-n", space, "link", "set", there, "up")
        _ip("-n", space, "link", "set", "lo", "up")
        process = subprocess.Popen(
            ["ip", "netns", "exec", space, sys.executable, str(SERVERS), THERE],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        yield _There(space, there, process)


def _ip(*arguments: str) -> None:
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LeftOutError("there is no `ip` here (iproute2)") from error
    if done.returncode:
        raise LeftOutError(f"`ip {' '.join(arguments)}` is refused: {done.stderr.strip()}")
