"""Benchmarks are run by hand; what they import of the packages, and of one another, is there."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = {path.stem: ast.parse(path.read_text("utf-8")) for path in FOLDER.glob("*.py")}
OURS = (
    "raptor_formats",
    "raptor_core",
    "raptor_assets",
    "raptor_lab",
    "dagster_project",
    "support",
)


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_every_imported_name_is_there(script):
    for node in ast.walk(SCRIPTS[script]):
        if isinstance(node, ast.ImportFrom) and node.module:
            missing = [name.name for name in node.names if not is_there(node.module, name.name)]
            assert not missing, node.module


def is_there(module, name):
    """Whether one of our modules or scripts has a name; a script is read and not run."""
    if module in SCRIPTS:
        return name in top_names(SCRIPTS[module])
    if module.partition(".")[0] not in OURS:
        return True
    return hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}")


def top_names(tree):
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names |= {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}
    return names
