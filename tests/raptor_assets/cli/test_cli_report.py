"""`raptor report`, `raptor export` and `raptor import`."""

import json
import re
import webbrowser
from pathlib import Path

import pytest
from support.command import Place, raptor

pytestmark = pytest.mark.slow

TREE = "farness/lighthouse.md"


def values(path):
    """What the page's script reads."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1]
    return json.loads(found)["report"]


@pytest.fixture
def opened(monkeypatch):
    """Addresses that a browser was asked to open."""
    urls = []
    monkeypatch.setattr(webbrowser, "open", urls.append)
    return urls


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder, where pages are written."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_writes_the_page_into_the_current_folder_and_prints_its_path(built, opened, folder):
    printed = built.call("report", TREE)
    assert printed.code == 0
    path = Path(printed.out.strip())
    assert path == folder / "farness%2flighthouse.md.html"
    found = values(path)
    assert found["name"] == TREE
    text = (built.docs / TREE).read_text()
    shown = found["documents"][0]["x"]
    assert shown.split() == text.split()  # of the published chunks, at their places
    for node in (node for node in found["nodes"] if "s" in node):
        assert shown[node["s"] : node["e"]] == text[node["s"] : node["e"]]
    assert "chunking" in found["settings"]
    assert found["cost"] is not None
    assert opened == []


def test_the_browser_opens_only_at_a_terminal_and_not_with_no_open(built, opened, monkeypatch):
    from raptor_assets.cli.commands import trees

    monkeypatch.setattr(trees, "is_at_terminal", lambda: True)
    built.call("report", TREE)
    assert [url.startswith("file:///") for url in opened] == [True]
    built.call("report", TREE, "--no-open")
    built.call("report", TREE, "--json")
    assert len(opened) == 1


def test_it_opens_at_a_node_and_refuses_one_of_another_tree(built, opened, monkeypatch):
    from raptor_assets.cli.commands import trees

    monkeypatch.setattr(trees, "is_at_terminal", lambda: True)
    node = built.call("tree", TREE, "--json").json["nodes"][-1]["id"]
    printed = built.call("report", TREE, "--node", node)
    assert printed.out.strip().endswith(f".html#node={node}")
    assert opened == [printed.out.strip()]
    assert built.call("report", TREE, "--node", node, "--json").json["url"] == opened[0]
    printed = built.call("report", "soup.md", "--node", node, "--json")
    assert (printed.code, printed.json["error"]) == (4, "UnknownTreeError")
    assert "raptor tree soup.md --ids" in printed.json["message"]


QUESTION = "Who kept the lamp burning in the storm?"


@pytest.fixture(scope="module")
def exported(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("backup") / "monday"
    printed = built.call("export", folder, "--json")
    assert printed.code == 0, printed
    return folder, printed.json


def test_an_export_is_imported_and_read_like_the_home_it_came_from(built, exported, tmp_path):
    folder, summary = exported
    assert summary["n_nodes"] > len(summary["trees"]) == 3
    place = Place(tmp_path)
    assert place.call("init", built.docs).code == 0
    place.configure("[chunking]\nmax_tokens = 40")
    done = place.call("import", folder, "--json").json
    assert done["trees"] == done["changed"] == summary["trees"]
    assert place.call("import", folder, "--json").json["changed"] == []
    found = place.call("query", QUESTION, "--json").json
    assert found == built.call("query", QUESTION, "--json").json
    node = found["nodes"][0]["id"]
    tree = found["nodes"][0]["tree"]
    traced = place.call("tree", tree, "--trace", node, "--json").json
    assert traced == built.call("tree", tree, "--trace", node, "--json").json
    page = place.root / "page.html"
    assert place.call("report", tree, "--output", page, "--no-open").code == 0
    built_again = place.call("build", "--json").json
    assert built_again["failed"] == {}
    assert place.call("query", QUESTION, "--json").json == found
    assert place.call("build", RAPTOR_CHUNKING__MAX_TOKENS="60").code == 0
    refused = place.call("import", folder)
    assert (refused.code, "--replace" in refused.err) == (1, True)
    assert place.call("import", folder, "--replace").code == 0


def test_an_import_makes_the_home_that_its_help_names(built, exported, tmp_path):
    folder, _ = exported
    mistyped = raptor("import", tmp_path / "no-export", "--home", tmp_path / "restored")
    assert (mistyped.code, (tmp_path / "restored").exists()) == (1, False)
    done = raptor("import", folder, "--home", tmp_path / "restored")
    assert (done.code, "imported 3 trees" in done.out) == (0, True)
    assert f"raptor build --home {tmp_path / 'restored'}" in done.out


def test_errors_of_exports_and_imports_are_reported(built, exported, tmp_path):
    folder, _ = exported
    again = built.call("export", folder)
    assert (again.code, "choose an empty folder" in again.err) == (1, True)
    unknown = built.call("export", tmp_path / "x", "nowhere.md", "--json")
    assert (unknown.code, unknown.json["error"]) == (4, "UnknownTreeError")
    raptor("init", "--home", tmp_path / "home")
    empty = raptor("import", tmp_path / "x", "--home", tmp_path / "home")
    assert (empty.code, "contains no export.json" in empty.err) == (1, True)
    nothing = raptor("export", tmp_path / "y", "--home", tmp_path / "home")
    assert (nothing.code, "nothing is published" in nothing.err) == (4, True)
    some = raptor("import", folder, "soup.md", "--home", tmp_path / "home")
    assert (some.code, "imported 1 tree, 1 of them new" in some.out) == (0, True)
