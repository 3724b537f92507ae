"""Examples of the pages: Python runs and prints, settings are valid, embedders build trees."""

import tomllib

import pytest
from support.fenced import ROOT, fenced, run_example
from support.openai_server import FakeOpenAI

from raptor_core.documents.base import Document
from raptor_core.settings import Settings
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components

API = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/api").glob("*.md"))
EXAMPLES = {
    f"{page}, {number}": code
    for page in ("README.md", "CONTRIBUTING.md", *API)
    for number, code in enumerate(fenced(page), 1)
}
WHOLE_HANDBOOK = ("README.md, 1", "docs/api/evaluation.md, 1")
"""Examples that build a tree of the handbook, as ``test_determinism`` does."""
SETTINGS = {
    f"{path.name}, {number}": code
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.name != "settings.md"  # the site fills it in
    for number, code in enumerate(fenced(path, "toml"), 1)
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.rare if name in WHOLE_HANDBOOK else ())
        for name in EXAMPLES
    ],
)
def test_an_example_runs_and_prints(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run_example(EXAMPLES[name], name)
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_a_page_are_valid(name):
    Settings.model_validate(tomllib.loads(SETTINGS[name]))


@pytest.mark.parametrize(
    "name", [name for name, code in SETTINGS.items() if "[embedder]" in code and "openai" in code]
)
def test_an_endpoint_of_a_page_embeds_as_it_stands(name, monkeypatch):
    values = tomllib.loads(SETTINGS[name])
    embedder = values["embedder"]
    monkeypatch.setenv(embedder.get("api_key_env", "OPENAI_API_KEY"), "a key")
    monkeypatch.setattr("tiktoken.get_encoding", None)  # it would need the network
    with FakeOpenAI(n_dims=1536) as server:
        given = {part: values[part] for part in ("embedder", "tokens") if part in values}
        settings = Settings.model_validate(
            given | {"embedder": {**embedder, "base_url": server.base_url}}
        )
        tree = build_tree(
            [Document("a.md", "The lamp burns. " * 60)], components=Components(settings)
        )
    assert tree.n_nodes > 1
