"""Import direction as ARCHITECTURE.md tells it, laziness, and the public surface."""

import ast
import functools
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions import data_version

import raptor_core
from raptor_assets import dagster_private
from raptor_assets.chain import provenance

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGES = ("raptor_formats", "raptor_core", "raptor_assets", "raptor_lab", "dagster_project")
GROUND = set(re.findall(r"`(\w+)`", PAGE.partition("ground floor: ")[2].partition("\n")[0]))
"""Rooms that all others may import."""

HEAVY = {
    *("torch", "umap", "sklearn", "scipy", "numba", "openai", "qdrant_client", "qdrant_edge"),
    *("matplotlib", "pandas", "pyarrow", "tiktoken", "transformers", "sentence_transformers"),
    *("pypdfium2", "docx", "bs4", "tokenizers", "nltk", "rouge_score"),
    *("mcp", "langchain_core", "llama_index", "xllamacpp"),
}
"""Vendors that are imported where they are used."""


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imported(path):
    """Top-level names that a module imports, in functions and type-checking blocks too."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add((node.module or "").split(".")[0])
    return found


def loaded_after(code):
    """Heavy modules that are loaded once a fresh process ran the code."""
    then = f"{code}\nimport sys\nprint(*({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", then], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def table_under(heading):
    """What a table of the page says: by its first column, the names in its last, in its order."""
    rows = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows if row.startswith("| `")]
    return {first.strip("`"): re.findall(r"`([\w.]+)`", cell) for first, *_, cell in cells}


@pytest.mark.slow
def test_packages_import_what_the_page_says():
    found = {
        package: set().union(*map(imported, modules(package))) & {*PACKAGES} - {package}
        for package in PACKAGES
    }
    assert {name: set(others) for name, others in table_under("Packages").items()} == found


def test_the_core_knows_nothing_of_dagster():
    assert [path for path in modules("raptor_core") if "dagster" in imported(path)] == []


def room(parts):
    """The room of a module, by its names below its package: one of ``models`` has two names."""
    return ".".join(parts[: 2 if parts[0] == "models" else 1])


@functools.cache
def links(package):
    """For each room of a package, those that it imports from."""
    found = {}
    for path in modules(package):
        here = room(path.relative_to(ROOT / package).with_suffix("").parts)
        others = found.setdefault(here, set())
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
                others.add(room(node.module.split(".")[1:]))
    outside = {"__init__", "models.__init__"}
    return {here: others - {here} for here, others in found.items() if here not in outside}


HOUSES = {
    "raptor_core": ("The rooms of raptor_core", GROUND),
    "raptor_assets": ("The floors of raptor_assets", {"dagster_private"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("package", HOUSES)
def test_rooms_import_what_the_page_says(package):
    heading, ground = HOUSES[package]
    found = {room: others - ground for room, others in links(package).items()}
    assert [found.pop(room) for room in sorted(ground)] == [set()] * len(ground)
    assert {room: set(others) for room, others in table_under(heading).items()} == found


@pytest.mark.parametrize("package", HOUSES)
def test_rooms_stand_above_one_another_without_a_circle(package):
    heading, ground = HOUSES[package]
    rooms, found = list(table_under(heading)), links(package)
    for at, room in enumerate(rooms):
        assert found[room] - ground <= {*rooms[:at]}, room
    assert len(rooms) > 7


def test_no_files_import_one_another_in_a_circle():
    """Nor do they for types alone; what a function imports when it is called is its own matter."""
    files = [path for package in PACKAGES for path in modules(package)]
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]
    graph = {name.removesuffix(".__init__"): set() for name in names}
    for others, path in zip(graph.values(), files, strict=True):
        body = parsed(path).body
        for_types = [node for block in body if isinstance(block, ast.If) for node in block.body]
        for node in body + for_types:
            if isinstance(node, ast.ImportFrom):
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & graph.keys()
                others.update(inside or {str(node.module)})
    assert len(list(TopologicalSorter(graph).static_order())) > len(graph)


def calls_of_stores(path):
    """Calls in a module that begin a publication, or publish or drop trees of a store."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = ast.unparse(node.func.value)
            if node.func.attr == "publish_together" or (
                target.endswith(("store", "batch")) and node.func.attr in {"publish", "drop"}
            ):
                yield node.func.attr


def test_only_the_publication_writes_what_readers_see():
    """``home/regression.py`` publishes into a store in memory, to compare answers of two builds."""
    found = {
        str(path.relative_to(ROOT / "raptor_assets")): set(calls)
        for path in modules("raptor_assets")
        if (calls := list(calls_of_stores(path)))
    }
    assert found == {
        "home/publication.py": {"publish_together", "publish", "drop"},
        "home/regression.py": {"publish_together"},
    }


def test_every_file_that_a_page_names_is_there():
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = re.findall(r"`([\w./]+\.(?:py|md|toml|cff|yml))`", text)
        places = (ROOT, *(ROOT / package for package in PACKAGES))
        assert [n for n in named if not any((place / n).exists() for place in places)] == []


@pytest.mark.slow
def test_the_public_names_of_the_core_load_no_vendor_and_no_dagster():
    names = f"from raptor_core import {', '.join(raptor_core.__all__)}"
    assert loaded_after(f"{names}\nimport sys\nassert 'dagster' not in sys.modules") == set()


def test_the_public_names_are_there_in_their_order():
    assert sorted(raptor_core.__all__) == list(raptor_core.__all__)
    for name in raptor_core.__all__:
        assert getattr(raptor_core, name) is not None
    assert set(dir(raptor_core)) == set(raptor_core.__all__)


@pytest.mark.slow
def test_one_module_imports_private_names():
    files = [path for package in PACKAGES for path in modules(package)]
    private = {
        path.name
        for path in files
        if re.search(r"(from|import) dagster\._", path.read_text("utf-8"))
    }
    assert private == {"dagster_private.py"}
    assert all(hasattr(dagster_private, name) for name in dagster_private.__all__)


def test_tags_of_materializations_are_those_that_dagster_reads():
    key = dg.AssetKey(["layer_1", "summaries"])
    assert data_version.CODE_VERSION_TAG == provenance.CODE_VERSION
    assert data_version.DATA_VERSION_TAG == provenance.DATA_VERSION
    assert data_version.DATA_VERSION_IS_USER_PROVIDED_TAG == provenance.IS_GIVEN
    assert data_version.NULL_EVENT_POINTER == provenance.NO_EVENT
    assert data_version.DEFAULT_DATA_VERSION.value == provenance.INITIAL_VERSION
    shown = key.to_user_string()
    assert data_version.get_input_data_version_tag(key) == f"{provenance.INPUT_VERSION}/{shown}"
    assert data_version.get_input_event_pointer_tag(key) == f"{provenance.INPUT_EVENT}/{shown}"
