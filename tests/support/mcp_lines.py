"""Lines of the Model Context Protocol over the pipes of `raptor mcp`, without an SDK's client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.stores import PROCESS_PATH

HELLO = {
    "protocolVersion": "2025-03-26",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def exchange(home: Path, *calls: tuple[str, dict[str, Any]], **environ: str) -> list[Any]:
    """Return the answers of the server to ``(method, params)``, in their order."""
    lines: list[dict[str, Any]] = [
        {"id": number, "method": method, "params": params}
        for number, (method, params) in enumerate([("initialize", HELLO), *calls])
    ]
    lines.insert(1, {"method": "notifications/initialized"})
    command = [sys.executable, "-c", "from raptor_assets.cli import main; main()"]
    command += ["mcp", "--home", str(home)]
    settings = {**os.environ, "PYTHONPATH": PROCESS_PATH, "HF_HUB_OFFLINE": "1", **environ}
    pipe = subprocess.PIPE
    answers: dict[int, Any] = {}
    with subprocess.Popen(
        command, env=settings, text=True, stdin=pipe, stdout=pipe, stderr=pipe
    ) as server:
        assert server.stdin
        assert server.stdout
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}) + "\n")
            server.stdin.flush()
            if "id" in line:
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = answer["result"]
        server.stdin.close()
    return [answers[number] for number in range(len(calls) + 1)]
