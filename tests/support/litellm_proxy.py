"""LiteLLM's proxy, a gateway to chat models, with answers of its own in place of a model's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from support.ports import free_port
from support.processes import process_of, wait_until

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
