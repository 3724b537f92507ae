"""Import direction, laziness, and the public surface."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import raptor_core

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "raptor_core": {"raptor_assets", "dagster_project", "dagster"},
    "raptor_assets": {"dagster_project"},
}
"""What a package never imports."""

HEAVY = {
    *("torch", "umap", "sklearn", "scipy", "numba", "openai", "qdrant_client", "qdrant_edge"),
    *("matplotlib", "pandas", "pyarrow", "tiktoken", "transformers", "sentence_transformers"),
    *("pypdfium2", "docx", "bs4", "tokenizers", "nltk", "rouge_score"),
    *("mcp", "langchain_core", "llama_index"),
}
"""Vendors that are imported where they are used."""


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported(path):
    """Top-level names that a module imports, in functions and type-checking blocks too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add((node.module or "").split(".")[0])
    return found


def loaded_after(code):
    """Heavy modules that are loaded once a fresh process ran the code."""
    told = f"{code}\nimport sys\nprint(*sorted({sorted(HEAVY)!r} & sys.modules.keys()))"
    told = told.replace("['", "{'").replace("']", "'}")
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_imports_go_one_way(package):
    wrong = {
        str(path.relative_to(ROOT)): sorted(imported(path) & FORBIDDEN[package])
        for path in modules(package)
        if imported(path) & FORBIDDEN[package]
    }
    assert wrong == {}


def links():
    """For each package or module right under raptor_core, those that it imports from."""
    found = {}
    for path in modules("raptor_core"):
        here = path.relative_to(ROOT / "raptor_core").with_suffix("").parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("raptor_core."):
                found.setdefault(here, set()).add(node.module.split(".")[1])
    return found


def test_packages_of_the_core_stand_above_one_another():
    above = links()
    circles = [
        (one, other) for one in above for other in above[one] - {one} if one in above.get(other, ())
    ]
    assert len(above) > 10
    assert circles == []


def test_every_package_was_looked_at():
    for package in ("raptor_core", "raptor_assets", "dagster_project"):
        assert len(modules(package)) > 5


def test_importing_the_core_loads_no_vendor_and_no_dagster():
    assert loaded_after("import raptor_core, sys\nassert 'dagster' not in sys.modules") == set()


def test_the_public_names_of_the_core_load_no_vendor():
    names = ", ".join(raptor_core.__all__)
    assert loaded_after(f"from raptor_core import {names}") == set()


def test_importing_the_assets_loads_no_vendor():
    assert loaded_after("import raptor_assets.chain") == set()


def test_the_public_surface_is_what_all_says():
    assert set(raptor_core.__all__) == {
        "Corpus",
        "Document",
        "Layer",
        "Node",
        "Query",
        "RaptorError",
        "Reader",
        "Retrieval",
        "Retriever",
        "Settings",
        "Tools",
        "Tree",
        "build_tree",
        "build_trees",
        "load_documents",
        "load_settings",
        "open_store",
        "preset",
    }
    assert sorted(raptor_core.__all__) == list(raptor_core.__all__)
    for name in raptor_core.__all__:
        assert getattr(raptor_core, name) is not None
    assert set(dir(raptor_core)) == set(raptor_core.__all__)


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nosuch"):
        raptor_core.nosuch  # noqa: B018
