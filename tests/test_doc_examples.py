"""Examples of the pages: Python runs and prints, settings are valid."""

import tomllib

import pytest
from support.fenced import ROOT, fenced, run_example

from raptor_core.settings import Settings

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
