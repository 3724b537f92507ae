"""`raptor serve` and `raptor mcp --port` in processes of their own; an application in this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from support.ports import free_port
from support.stores import PROCESS_PATH

KEY = "a key of the tests"


@contextmanager
def serving(home: Path, name: str = "serve", **environ: str) -> Iterator[str]:
    """The address of `raptor serve`, or `mcp`, on this home, in a process of its own."""
    port = free_port()
    code = "from raptor_assets.cli import main; main()"
    command = [sys.executable, "-c", code, name, "--port", str(port), "--home", str(home)]
    given = {**os.environ, "PYTHONPATH": PROCESS_PATH, "HF_HUB_OFFLINE": "1", **environ}
    process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        while process.poll() is None:
            with suppress(httpx.TransportError):
                httpx.get(f"{address}/health")
                break
            time.sleep(0.05)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        log = process.communicate(timeout=120)[0].decode()
        assert KEY not in log


@contextmanager
def served_here(app: Any) -> Iterator[str]:
    """The address of an application that a thread of this process serves."""
    import uvicorn

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, ws="none", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
