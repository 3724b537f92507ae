"""Commands and blocks in the pages of the repository and in the texts of the packages."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from raptor_assets.cli import main

ROOT = Path(__file__).parents[2]
PACKAGES = ("raptor_formats", "raptor_core", "raptor_assets", "raptor_lab")
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md")
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        *(ROOT / name for name in (*TOP, "deploy/README.md", "examples/README.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
FENCE = re.compile(
    r"^(?:<!-- not run: ([^\n]+) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """Fenced block of a page; ``reason`` says why no test runs it, "" if one does."""

    page: str
    number: int
    language: str
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.page}, {self.language} {self.number}"


def blocks(page: str) -> list[Block]:
    """The blocks of a page, with numbers from 1 by language."""
    found: list[Block] = []
    for reason, language, text in FENCE.findall(PAGES[page]):
        number = 1 + sum(block.language == language for block in found)
        found.append(Block(page, number, language, text, reason))
    return found


def raptor_lines(text: str) -> list[str]:
    """The lines of a block that call `raptor`, without a prompt."""
    lines = (line.removeprefix("$ ") for line in text.splitlines())
    return [line for line in lines if line.startswith("raptor ")]


def named_commands() -> Iterator[tuple[str, str]]:
    """Each command that a page or a text of the packages names, with its file."""
    texts = {**PAGES, "readme.txt": (ROOT / "raptor_lab/paper/readme.txt").read_text("utf-8")}
    for page, text in texts.items():
        for _, _, block in FENCE.findall(text):
            yield from ((page, line) for line in raptor_lines(block))
        yield from ((page, command) for command in _quoted(FENCE.sub("", text)))
    for path in (path for name in PACKAGES for path in (ROOT / name).rglob("*.py")):
        for constant in _strings(path.read_text(encoding="utf-8")):
            yield from ((str(path), command) for command in _quoted(constant))


def _quoted(text: str) -> list[str]:
    return [re.sub(r"\s+", " ", found) for found in re.findall(r"`(raptor\s[^`]+)`", text)]


def _strings(source: str) -> Iterator[str]:
    """Texts in a module; a value in an f-string is three dots."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = (
                part.value if isinstance(part, ast.Constant) else "..." for part in node.values
            )
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def unknown_words(line: str) -> list[str]:
    """The command or the options of a line that `raptor` does not have."""
    words = _split(re.split(r"\s(?:\||>|>>|&&|;)\s", line)[0])[1:]
    command: click.Command = main
    while isinstance(command, click.Group) and words and words[0][0].isalpha():
        name, *words = words
        below = command.get_command(click.Context(main), name)
        if below is None:
            return [name]
        command = below
    known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
    options = (word.partition("=")[0] for word in words if word.startswith("--"))
    return [option for option in options if option not in known | {"--help", "--version"}]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # a quotation that goes on
        return line.split()
