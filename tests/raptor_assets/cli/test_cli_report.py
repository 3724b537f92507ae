"""`raptor report`."""

import json
import re
import webbrowser
from pathlib import Path

import pytest

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

    monkeypatch.setattr(trees, "at_terminal", lambda: True)
    built.call("report", TREE)
    assert [url.startswith("file:///") for url in opened] == [True]
    built.call("report", TREE, "--no-open")
    built.call("report", TREE, "--json")
    assert len(opened) == 1


def test_it_opens_at_a_node_and_refuses_one_of_another_tree(built, opened, monkeypatch):
    from raptor_assets.cli.commands import trees

    monkeypatch.setattr(trees, "at_terminal", lambda: True)
    node = built.call("tree", TREE, "--json").json["nodes"][-1]["id"]
    printed = built.call("report", TREE, "--node", node)
    assert printed.out.strip().endswith(f".html#node={node}")
    assert opened == [printed.out.strip()]
    assert built.call("report", TREE, "--node", node, "--json").json["url"] == opened[0]
    printed = built.call("report", "soup.md", "--node", node, "--json")
    assert (printed.code, printed.json["error"]) == (4, "UnknownTreeError")
    assert "raptor tree soup.md --ids" in printed.json["message"]
