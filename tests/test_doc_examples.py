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
SETTINGS = {
    f"{path.name}, {number}": code
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.name != "settings.md"  # the site fills it in
    for number, code in enumerate(fenced(path, "toml"), 1)
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_prints(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run_example(EXAMPLES[name], name)
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_a_page_are_valid(name):
    Settings.model_validate(tomllib.loads(SETTINGS[name]))
