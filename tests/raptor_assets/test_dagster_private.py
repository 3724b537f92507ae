"""One module alone imports what Dagster does not document, and the tags are Dagster's."""

import ast
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions import data_version

import raptor_assets
from raptor_assets import dagster_private
from raptor_assets.chain import provenance

ROOT = Path(raptor_assets.__file__).parents[1]
PACKAGES = ("raptor_formats", "raptor_core", "raptor_assets", "raptor_lab", "dagster_project")


def imported(path):
    """Return the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.slow
def test_one_module_imports_private_names():
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    private = {
        path.name for path in files if any(name.startswith("dagster._") for name in imported(path))
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
