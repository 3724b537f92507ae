"""The engine of a local model: llama.cpp in this process, loaded once, when a call needs it.

The engine speaks the OpenAI protocol, so retries and checks are those of
``raptor_core.models.endpoints``. It computes one request at a time, so that answers do not depend
on concurrent requests. A prompt that begins like the last one reuses the results for that part.
"""

import atexit
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from raptor_core.errors import MissingExtraError, ModelError
from raptor_core.models.local.files import digest_size_and_file_ends, require_model_file
from raptor_core.settings.base import ChatModelSettings
from raptor_core.threads import n_cores

SEED = 0
"""Seed of each answer, which has an effect only above temperature 0."""
_BATCH_TOKENS = 256
"""Number of prompt tokens that are computed at once; a cancelled call ends after them."""
_SILENT = -1


def stream_local_answer(
    part: ChatModelSettings,
    body: Mapping[str, Any],
    stop: threading.Event,
    add: Callable[[Any], object],
) -> None:
    """Pass the events of a streamed answer to ``add``, until ``stop`` is set."""

    def each(event: Any) -> bool:
        add(event)
        return stop.is_set()  # True ends the computation

    # Progress of the prompt is an event, too, so that a long prompt can be stopped.
    shared_engine(part).handle_chat_completions({**body, "return_progress": True}, each)


def _load_engine(part: ChatModelSettings, path: Path, socket: str) -> Any:
    xllamacpp = import_xllamacpp()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = part.context_tokens  # llama.cpp lowers it to the model's limit
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = part.threads or n_cores()
    params.sampling.seed = SEED
    params.enable_reasoning = 0  # else reasoning uses up a short limit before the answer begins
    params.cache_ram_mib = 0  # the last prompt is reused in place; copies would take memory
    params.hostnames, params.port = [socket], 0
    params.offline, params.ui, params.warmup, params.verbosity = True, False, False, _SILENT
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise ModelError(
            f"{part.purpose}.model: llama.cpp cannot load {params.model.path} with "
            f"{params.n_ctx:,} tokens of context ({error}). Check that the file is complete, and "
            "that this release of xllamacpp supports its architecture; a smaller "
            f"{part.purpose}.context_tokens needs less memory"
        ) from error


def import_xllamacpp() -> Any:
    """Return the module ``xllamacpp``, or raise MissingExtraError."""
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtraError("local", "a local model") from error
    return xllamacpp


_LOCK = threading.Lock()
_ENGINES: dict[tuple[str, int, int], Any] = {}
atexit.register(_ENGINES.clear)  # ends llama.cpp's threads before its libraries are unloaded


def shared_engine(part: ChatModelSettings) -> Any:
    """Return the engine of a local model; this process has one for each file and its settings.

    llama.cpp insists on listening somewhere. It listens on a Unix socket in a folder that only this
    user can open, so that it opens no port.

    Raises:
        MissingExtraError: the extra ``local`` is not installed.
        ModelError: the file is missing, is not a GGUF file, or cannot be loaded.
    """
    path = require_model_file(part.model, f"{part.purpose}.model")
    with _LOCK:
        key = (digest_size_and_file_ends(part.model), part.context_tokens, part.threads)
        if key not in _ENGINES:
            folder = tempfile.mkdtemp(prefix="raptor-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            socket = str(Path(folder) / "llama.sock")  # llama.cpp recognizes a socket by ".sock"
            _ENGINES[key] = _load_engine(part, path, socket)
        return _ENGINES[key]
