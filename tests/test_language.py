"""References and names: what docstrings and pages name exists, and class names are unique."""

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("raptor_formats", "raptor_core", "raptor_assets", "raptor_lab", "dagster_project")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
DOTTED = re.compile(r"``((?:raptor_formats|raptor_core|raptor_assets|raptor_lab)(?:\.\w+)+)")
FILE = re.compile(r"``((?:\w+/)*\w+\.py)``")

SHARED = {"RaptorRetriever"}
"""Class names that two modules share on purpose: each framework's retriever is imported alone."""


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def resolves(name):
    """Whether a dotted name is a module, or an attribute of one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:end])
        if not (base.with_suffix(".py").exists() or (base / "__init__.py").exists()):
            continue
        if end == len(parts):
            return True
        found = importlib.import_module(".".join(parts[:end]))
        return end == len(parts) - 1 and hasattr(found, parts[-1])
    return False


@pytest.mark.slow
def test_every_module_that_a_docstring_names_exists():
    missing = []
    for path in FILES:
        for text in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            missing += [(path.name, name) for name in DOTTED.findall(text) if not resolves(name)]
            missing += [
                (path.name, name)
                for name in FILE.findall(text)
                if not any(str(each).endswith(f"/{name}") for each in FILES)
                and not (ROOT / name).exists()
            ]
    assert missing == []


def test_class_names_are_unique():
    places = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {n: p for n, p in places.items() if len(p) > 1 and n not in SHARED} == {}


NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(test_\w+))?`")


@pytest.mark.parametrize(("page", "least"), [("docs/reliability.md", 25), ("SECURITY.md", 10)])
def test_every_test_that_a_page_names_is_there(page, least):
    named = NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) >= least
    for file, test in named:
        assert (ROOT / file).exists(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
