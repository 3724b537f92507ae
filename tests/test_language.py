"""Docstrings and names of the packages are in plain English and in the field's terms."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("raptor_core", "raptor_assets", "raptor_lab", "dagster_project")

OPENINGS = (
    "What Whether One Of As Those That Who Which Where How By For From In To With Like It They Its "
    "All Each Every Some None"
)
OPENING = re.compile(rf"^(The same|{'|'.join(OPENINGS.split())})\b")
"""Words that begin no docstring: a sentence that begins so has its noun on another line."""

WORDS = (
    "told tell tells found made given was own owns said asked met seen glance glances doubted "
    "lively steady warm cold lawful homeless settle settled hand seam one ones other others thing "
    "things what whole held taken left gone wanted way ways beside besides before after anew"
)
NAME = re.compile(rf"^_?({'|'.join(WORDS.split())})$")
"""Names that say nothing: a name is a noun for a value and a verb for a function."""

PHRASES = (
    "is told|are told|of one's own|anew|besides|nobody|whoever|in place of|at hand|is asked of|"
    "of whatever|themselves where|in its stead|thereof|whereupon|stands? in|stands? for"
)
PHRASE = re.compile(rf"\b({PHRASES})\b", re.IGNORECASE)
"""Turns of phrase that must be read twice."""

ALLOWED = {
    "raptor_core/audit/llm.py": {
        "docstrings": "the model reads these as descriptions in the JSON schema",
    },
    "raptor_assets/serving/values.py": {
        "names": "a field of the answers over HTTP and MCP",
    },
}
"""Files with exceptions, by kind, each with its reason."""

FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def first_lines(tree):
    """First lines of docstrings, but those of properties, which are nouns anyhow."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            marks = getattr(node, "decorator_list", ())
            if any("property" in ast.dump(mark) for mark in marks):
                continue
            yield (ast.get_docstring(node) or "").partition("\n")[0]


def names(tree):
    """Names that the code binds: arguments, variables, attributes, functions, classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def faults(source):
    """Faults of a module's text by kind."""
    tree = ast.parse(source)
    return {
        "docstrings": [line for line in first_lines(tree) if OPENING.match(line)],
        "names": [name for name in names(tree) if NAME.match(name)],
        "phrases": [m[0] for text in docstrings(tree) for m in PHRASE.finditer(text)],
    }


@pytest.mark.slow
def test_modules_are_written_in_plain_words():
    found = {}
    for path in FILES:
        name = str(path.relative_to(ROOT))
        for kind, some in faults(path.read_text(encoding="utf-8")).items():
            if some and kind not in ALLOWED.get(name, {}):
                found[name, kind] = some
    assert found == {}


def test_exceptions_are_needed_and_have_a_reason():
    for name, kinds in ALLOWED.items():
        found = faults((ROOT / name).read_text(encoding="utf-8"))
        for kind, reason in kinds.items():
            assert found[kind], f"{name}: no exception for {kind} is needed"
            assert len(reason.split()) > 4


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('def read():\n    """What a file holds."""\n', "docstrings"),
        ("told = 1\n", "names"),
        ("def f(given): ...\n", "names"),
        ('def f():\n    """Build the tree anew."""\n', "phrases"),
    ],
)
def test_a_forbidden_word_is_noticed(source, kind):
    assert faults(source)[kind]
