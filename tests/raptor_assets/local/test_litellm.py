"""Builds through LiteLLM's proxy, a gateway that teams put before their chat models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from support.ports import free_port
from support.processes import process_of, wait_until
from support.workshop import Workshop, prose

pytestmark = [pytest.mark.slow, pytest.mark.rare]

PINS = Path(__file__).with_name("litellm.txt")
FOLDER = Path(__file__).parents[2] / ".venv" / "litellm"
KEY = "sk-gateway"


def install_litellm() -> None:
    """Install it in an environment of its own, unless these versions are there."""
    done = FOLDER / PINS.name
    if done.exists() and done.read_text() == PINS.read_text():
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    command = [_python(), "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary"]
    subprocess.run([*command, ":all:", "--requirement", str(PINS)], check=True)
    done.write_text(PINS.read_text())


@contextmanager
def litellm_proxy(folder: Path, answers: Mapping[str, str]) -> Iterator[str]:
    """Base URL of a proxy over models that answer all alike, or with an error that is named."""
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": "openai/none", "api_key": "none", "mock_response": answer},
        }
        for name, answer in answers.items()
    ]
    config = folder / "litellm.json"
    general = {"master_key": KEY}
    settings = {"model_list": models, "general_settings": general}
    config.write_text(json.dumps({**settings, "router_settings": {"num_retries": 0}}))
    port, log = free_port(), folder / "litellm.log"
    command = [_python(), "-P", str(FOLDER / "bin" / "litellm"), "--config", str(config)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": ""}
    with process_of(command, folder, log, offline) as process:
        url = f"http://127.0.0.1:{port}"

        def lives() -> bool:
            try:
                return bool(urlopen(f"{url}/health/liveliness").status == 200)
            except URLError:
                return False

        wait_until(lives, [log], needed=[process])
        yield f"{url}/v1"


def _python() -> str:
    return str(FOLDER / "bin" / "python")


TOLD = "The lamp was lit in the autumn and kept through the winter by its keepers."
MODELS = {
    "writer": TOLD,
    "refuser": "I'm sorry, but I can't help with that request.",
    "limited": "litellm.RateLimitError",
    "broken": "litellm.InternalServerError",
    "short": "litellm.ContextWindowExceededError",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with litellm_proxy(tmp_path_factory.mktemp("gateway"), MODELS) as found:
        yield found


@pytest.fixture
def through(url, tmp_path, monkeypatch):
    """A home of one document whose summaries a model of the gateway writes."""
    monkeypatch.setenv("GATEWAY_KEY", KEY)

    def workshop(model, **settings):
        writer = {"kind": "openai", "model": model, "base_url": url, "api_key_env": "GATEWAY_KEY"}
        made = Workshop(tmp_path, summarizer={**writer, "max_retries": 0, **settings})
        made.write("a.md", prose(24, seed=1))
        return made

    return workshop


def test_a_tree_is_built_and_its_usage_is_known(through):
    workshop = through("writer")
    assert workshop.build().succeeded
    assert TOLD in workshop.texts("a.md")
    metadata = workshop.metadata("layer_1/summaries", "a.md")
    assert metadata["calls"] == metadata["n_made"] > 1
    assert metadata["prompt_tokens"] > 0
    assert metadata["completion_tokens"] > 0
    assert not workshop.build(force=True).produced["layer_1/summaries"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("refuser", "refus"),
        ("limited", "mock rate limit error"),
        ("broken", "mock internal server error"),
        ("short", "mock context window exceeded error"),
    ],
)
def test_what_it_refuses_is_reported_in_its_words_and_never_published(through, model, words):
    workshop = through(model)
    failed = workshop.build().failed["a.md"]
    assert failed.asset == "layer_1/summaries"
    assert words in failed.reason
    assert workshop.manifests() == {}


def test_a_wrong_key_is_refused_in_its_words_and_not_shown(through, monkeypatch):
    monkeypatch.setenv("GATEWAY_KEY", "sk-wrong")
    workshop = through("writer")
    reason = workshop.build().failed["a.md"].reason
    assert "No connected db" in reason  # so it says that it knows no other key
    assert "sk-wrong" not in reason
    assert workshop.manifests() == {}
