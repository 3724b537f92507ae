"""What benchmarks share: CPU seconds, memory, disk, processes, Markdown tables, documents."""

from __future__ import annotations

import json
import random
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from raptor_core import Document

WORDS = (
    "system river engine market animal theory signal garden bridge doctor winter letter music "
    "planet silver forest number school travel history water energy policy memory village ocean"
)
VERBS = "changed carried measured found lost built described followed improved explained"
SEED = 7


def cpu_seconds() -> float:
    """Return the user and system time of this process and of its children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def peak_bytes() -> int:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def own_bytes(pid: int | str = "self", field: str = "RssAnon") -> int:
    """Return the memory of a process without mapped files, which the system can reclaim.

    ``VmRSS`` as ``field`` counts mapped files, too.
    """
    status = Path(f"/proc/{pid}/status")
    told = status.read_text(encoding="utf-8") if status.exists() else ""
    found = re.search(rf"^{field}:\s+(\d+) kB", told, re.MULTILINE)
    return int(found[1]) * 1024 if found else peak_bytes()


def disk_bytes(folder: Path) -> int:
    """Return the disk space of a folder's files, in bytes."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def print_head(*cells: str) -> None:
    """Print the head of a Markdown table."""
    print_row(*cells)
    print_row(*["---"] * len(cells))


def print_row(*cells: object) -> None:
    """Print a row of a Markdown table, and flush it."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def in_process(script: str, *arguments: object) -> Any:
    """Run a script in its own process; return the JSON value in its last line of output."""
    command = [sys.executable, script, *map(str, arguments)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def make_documents(n_documents: int) -> list[Document]:
    """Make documents of four sentences, always the same."""
    chosen = random.Random(SEED)

    def sentence() -> str:
        a, b, c, d = chosen.choices(WORDS.split(), k=4)
        year = 1900 + chosen.randrange(120)
        return f"The {a} of the {b} {chosen.choice(VERBS.split())} the {c} near the {d} in {year}."

    return [
        Document(f"doc-{at:05d}.md", " ".join(sentence() for _ in range(4)))
        for at in range(n_documents)
    ]
