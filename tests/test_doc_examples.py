"""Every example of README, CONTRIBUTING and the API reference runs, and prints something."""

import pytest
from support.fenced import ROOT, fenced, run_example

API = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/api").glob("*.md"))
EXAMPLES = {
    f"{page}, {number}": code
    for page in ("README.md", "CONTRIBUTING.md", *API)
    for number, code in enumerate(fenced(page), 1)
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_prints(name, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    run_example(EXAMPLES[name], name)
    assert capsys.readouterr().out.strip()
