"""Examples in Markdown: found, and run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def fenced(path: str | Path, language: str = "python") -> list[str]:
    """The fenced blocks of a language in a file of the repository, in order."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_example(code: str, name: str) -> None:
    """Run a block as a script of its own would."""
    exec(compile(code, name, "exec"), {"__name__": "__main__"})
