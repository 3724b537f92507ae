"""The Model Context Protocol's own conformance tests, a package of npm."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

VERSION = "0.1.16"
FOLDER = Path(__file__).parents[2] / ".venv" / "conformance"

PACKAGE = "npm"
MISSING = (
    "npm was not found and could not be installed; it installs the protocol's conformance tests. "
    "Install it (Debian: npm); `make test` does without"
)


def find_npm() -> str | None:
    """Path of npm."""
    return shutil.which("npm")


def install_conformance() -> None:
    """Install the tests beside the packages of Python, unless this version is there."""
    if not _script().exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        wanted = f"@modelcontextprotocol/conformance@{VERSION}"
        command = [str(find_npm()), "install", "--silent", "--prefix", str(FOLDER), wanted]
        subprocess.run(command, check=True)


def check_server(url: str, scenario: str) -> str:
    """What a scenario told of a server; it says how many of its checks passed.

    It is run by the Node.js that Playwright brings, since it needs a newer one than Debian's.
    """
    from playwright._impl._driver import compute_driver_executable

    node, _ = compute_driver_executable()
    command = [node, str(_script()), "server", "--url", url, "--scenario", scenario]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=FOLDER, env=environment
    )
    return done.stdout + done.stderr


def _script() -> Path:
    place = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance"
    return place / "dist" / "index.js"
