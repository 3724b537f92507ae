"""Commands of the pages: their options exist, and each block runs or says why it is not run."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

import click
import dagster as dg
import pytest
import yaml
from support.command import SMALL_PARTS, embedder_made_by, raptor
from support.fenced import ROOT
from support.hashing import HashingEmbedder

from raptor_assets import RaptorCorpusComponent
from raptor_assets.cli import main
from raptor_core import HomeRetriever
from raptor_core.evaluation.golden_file import load_golden
from raptor_core.settings import Settings
from raptor_core.settings.base import SettingsSection

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


ELSEWHERE = {
    ("docs/alerts.md", "python"): "tests/raptor_assets/local/test_alerts.py",
    ("docs/applications.md", "json"): "tests/raptor_assets/cli/test_applications_doc.py",
    ("docs/applications.md", "python"): "tests/raptor_assets/cli/test_applications_doc.py",
    ("docs/chat.md", "python"): "tests/raptor_assets/cli/test_applications_doc.py",
    ("docs/dagster.md", "python"): "tests/test_dagster_doc.py",
    ("docs/dagster.md", "yaml"): "tests/raptor_assets/local/test_dg_project.py",
}
"""Blocks that a test of their page runs, by page and language."""
PYTHON = ("docs/agents.md", "docs/retrieval.md", "docs/rights.md")
"""Pages whose Python runs here, on a home and a retriever over it."""
WITH_NO_READER = 7
SHELL = [block for page in PAGES for block in blocks(page) if block.language == "sh"]
RUN = [block for block in SHELL if not block.reason]


@pytest.mark.slow
def test_every_command_and_option_that_a_text_names_is_there():
    named = list(named_commands())
    assert len(named) > 250
    assert [(where, line) for where, line in named if unknown_words(line)] == []


def test_a_block_that_no_test_runs_says_why():
    """Python, TOML and JSON run below, in test_doc_examples, or in the test of their page."""
    silent = [
        str(block)
        for page in PAGES
        for block in blocks(page)
        if block.language in ("console", "yaml", "text", "json", "python")
        and not block.reason
        and (page, block.language) not in ELSEWHERE
        and not is_run(block)
    ]
    assert silent == []
    for (page, _), test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text(encoding="utf-8")
    assert all(len(block.reason.split()) >= 3 for block in SHELL if block.reason)


def is_run(block: Block) -> bool:
    if block.language == "python":
        examples = ("README.md", "CONTRIBUTING.md", "docs/extending.md", *PYTHON)
        return block.page in examples or "docs/api" in block.page
    pages = (("docs/evaluation.md", "json"), ("docs/agents.md", "yaml"))
    return (block.page, block.language) in pages


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home over the vault of the handbook and a note, with a small embedder."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "examples/handbook/vault", folder / "docs/vault")
    (folder / "docs/point.md").write_text("# The lamp\n\nThe lamp was lit in 1872.\n")
    (folder / "papers.jsonl").write_text('{"id": "a", "text": "A paper on lamps."}\n')
    question = '{"question": "When was the lamp lit?", "expected": ["point.md"]}\n'
    (folder / "questions.jsonl").write_text(question)
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "notes").mkdir()
    (folder / "notes/point.md").write_text("The lamp was lit in 1872.\n")
    home = ("--home", folder / ".raptor")
    assert raptor("init", folder / "docs", *home).code == 0
    settings = folder / ".raptor/raptor.toml"
    settings.write_text(f"{settings.read_text()}\n{SMALL_PARTS}\n")
    assert raptor("build", *home).code == 0
    return folder


@pytest.fixture
def sandbox(home, tmp_path, monkeypatch):
    """The folder's copy as working folder and as home directory of the user."""
    place = tmp_path / "place"
    shutil.copytree(home, place, symlinks=True)
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    with embedder_made_by(lambda *_: HashingEmbedder()):
        yield place


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in RUN}))
def test_the_shell_blocks_of_a_page_run_in_their_order(page, sandbox):
    lines = [line for block in RUN if block.page == page for line in raptor_lines(block.text)]
    if lines[0].startswith("raptor init"):
        shutil.rmtree(".raptor")
    for line in lines:
        words = [word.replace("~", str(sandbox)) for word in shlex.split(line, comments=True)]
        printed = raptor(*words[1:])
        expected = (0, WITH_NO_READER) if words[1] == "ask" else (0,)
        assert printed.code in expected, (line, printed)


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON)
@pytest.mark.usefixtures("sandbox")
def test_python_of_a_page_runs_over_a_home(page):
    names = {"retriever": HomeRetriever(".raptor"), "questions": ["When was the lamp lit?"]}
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.text, str(block), "exec"), names)


def test_the_questions_of_a_page_are_a_golden_set(tmp_path):
    (block,) = [block for block in blocks("docs/evaluation.md") if block.language == "json"]
    (tmp_path / "questions.jsonl").write_text(block.text)
    assert len(load_golden(tmp_path / "questions.jsonl")) == 2


def test_the_component_of_a_page_makes_a_corpus(tmp_path):
    (block,) = [block for block in blocks("docs/agents.md") if block.language == "yaml"]
    values = yaml.safe_load(block.text.replace("{{ context.project_root }}", str(tmp_path)))
    component = RaptorCorpusComponent.resolve_from_dict(values["attributes"])
    assert values["type"] == f"raptor_assets.{type(component).__name__}"
    defs = component.build_defs(dg.ComponentTree.for_test().load_context)
    assert defs.resolve_job_def("handbook_sync").name in PAGES["docs/agents.md"]


def test_the_page_of_settings_lists_those_that_people_change():
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| `(.+?)` \|", PAGES["docs/settings.md"], re.MULTILINE)
    parts = {name: type(part) for name, part in Settings() if isinstance(part, SettingsSection)}
    expected = {
        (name, key): part.model_fields[key].default
        for name, part in parts.items()
        for key in part.flagged_settings("common")
    }
    listed = {(part, key): tomllib.loads(f"it = {value}")["it"] for part, key, value in rows}
    listed = {place: None if value == "none" else value for place, value in listed.items()}
    assert {p: list(v) if isinstance(v, tuple) else v for p, v in expected.items()} == listed


@pytest.mark.slow
@pytest.mark.rare
def test_the_tree_of_the_first_page_is_what_is_printed(tmp_path):
    report = tmp_path / "handbook/vault/january-warming.html"
    report.parent.mkdir(parents=True)
    shutil.copy(ROOT / "examples/handbook/vault" / report.name, report)
    home = ("--home", tmp_path / "home")
    assert raptor("init", tmp_path / "handbook", *home).code == 0
    assert raptor("build", *home).code == 0
    printed = raptor("tree", f"vault/{report.name}", *home).out.splitlines()
    shown = next(block for block in blocks("README.md") if not block.language).text.splitlines()
    assert len(shown) > 10
    for line, whole in zip(shown, printed, strict=False):
        assert whole.startswith(line.removesuffix(" …"))
