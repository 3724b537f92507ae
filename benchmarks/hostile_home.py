"""What trials share: a home with a small source, the command in a process, and rows of a table."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

# No proxy between a trial and its own servers.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"

PATIENCE_SECONDS = 600
"""A command that takes longer hangs."""

SMALL = """
[source]
paths = ["{docs}"]
settle_seconds = 0
[chunking]
max_tokens = 24
[clustering]
method = "contiguous"
window = 4
[tree]
max_layers = 2
[audit]
judge = "overlap"
"""


class BrokenPromiseError(Exception):
    """Something did not happen as it is promised."""


class LeftOutError(Exception):
    """The trial cannot be made here."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    fault: str
    promised: str
    happened: str
    figures: str = ""
    is_broken: bool = False


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code, both streams, and what it took."""

    code: int
    out: str
    err: str
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def told(self) -> str:
        """All that was said, on one line."""
        return " ".join((self.out + self.err).split())


def require(promise: object, *told: object) -> None:
    """End the trial where a promise is not kept."""
    if not promise:
        raise BrokenPromiseError(" ".join(map(str, told))[:600])


def environment(**more: str) -> dict[str, str]:
    """Of child processes: this copy of the packages, and the tests' stand-ins."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    return {**os.environ, "PYTHONPATH": path, "OPENAI_API_KEY": "", **more}


def raptor(home: Path, *arguments: str) -> Ended:
    """The `raptor` command as users have it, in a process of its own."""
    code = "from raptor_assets.cli import main; main()"
    return ended([sys.executable, "-c", code, *arguments, "--home", str(home)])


def build(root: Path) -> Ended:
    """`raptor build --json` of ``root/home``, with the small embedder of the tests."""
    script = ROOT / "tests" / "support" / "build_process.py"
    return ended([sys.executable, str(script), "build", str(root)])


def ended(command: list[str]) -> Ended:
    """Run a command to its end.

    Raises:
        BrokenPromiseError: it hangs.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        told = f"{command[-4:]} had not ended after {PATIENCE_SECONDS} s"
        raise BrokenPromiseError(told) from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ended(done.returncode, done.stdout, done.stderr, cpu, after.ru_maxrss / 1024)


def new_home(root: Path, more: str = "", docs: Path | None = None) -> Path:
    """A home ``root/home`` over ``root/docs``, or another folder, which is returned."""
    docs = docs or root / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    home = root / "home"
    home.mkdir()
    (home / "raptor.toml").write_text(SMALL.format(docs=docs) + more, encoding="utf-8")
    return docs


def write(docs: Path, seed: int, n_documents: int = 3, n_sentences: int = 40) -> None:
    """Documents of random sentences, other ones for every seed."""
    from support.workshop import prose

    for number in range(n_documents):
        text = prose(n_sentences, seed=100 * seed + number)
        (docs / f"d{number}.md").write_text(text, encoding="utf-8")


def seen(home: Path) -> dict[str, str]:
    """What readers see: the build of each tree, every node of which was read.

    Raises:
        BrokenPromiseError: a tree is not whole.
    """
    from raptor_assets.project.home import Home
    from raptor_core.store import Where, open_store

    opened = Home(home)
    with open_store(opened.load_settings().store, opened.qdrant) as store:
        manifests = store.manifests()
        for found in manifests:
            n_live = len(store.nodes(Where(trees=(found.tree,))))
            require(n_live == sum(found.layer_sizes), f"{found.tree} is published half")
    return {found.tree: found.build_id for found in manifests}
