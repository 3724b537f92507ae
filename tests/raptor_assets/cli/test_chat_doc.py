"""docs/chat.md: every example runs against a server."""

import tomllib

import pytest
import yaml
from support.fenced import fenced, run_example
from support.serving import KEY, served_here
from support.streams import StreamingModel

from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_core import HomeRetriever
from raptor_core.settings import Settings

PAGE = "docs/chat.md"
EXAMPLES = fenced(PAGE)
ADDRESS = "http://127.0.0.1:8700"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_an_example_runs_and_prints(number, built, monkeypatch, capsys):
    (link,) = fenced(PAGE, "toml")
    with StreamingModel("The door ", "stood open [1].") as model:
        monkeypatch.setenv("RAPTOR_READER__BASE_URL", model.base_url)
        template = tomllib.loads(link)["source"]["link"]
        monkeypatch.setenv("RAPTOR_SOURCE__LINK", template)
        with served_here(make_app(HomeRetriever(built.home), ServerKeys(KEY))) as address:
            code = EXAMPLES[number].replace(ADDRESS, address)
            code = code.replace('"..."', repr(KEY)).replace("Bearer ...", f"Bearer {KEY}")
            run_example(code, f"example {number}")
    printed = capsys.readouterr().out
    assert (".md" if number == 1 else "stood") in printed


def test_all_examples_are_looked_at_and_settings_are_valid():
    assert len(EXAMPLES) == 3
    for block in fenced(PAGE, "toml"):
        Settings.model_validate(tomllib.loads(block))
    ((model,),) = map(yaml.safe_load, fenced(PAGE, "yaml"))
    assert (model["model_name"], model["api_base"]) == (Settings().store.corpus, f"{ADDRESS}/v1")
