"""axe-core, a package of npm: what a page lacks for people who do without mouse or eyes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from playwright.sync_api import Page

VERSION = "4.11.0"
FOLDER = Path(__file__).parents[2] / ".venv" / "axe"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

PACKAGE = "npm"
MISSING = (
    "npm was not found and could not be installed; it installs axe. "
    "Install it (Debian: npm); `make test` does without"
)


def find_npm() -> str | None:
    """Path of npm."""
    return shutil.which("npm")


def install_axe() -> None:
    """Install it beside the packages of Python, unless this version is there."""
    if not _script().exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        wanted = f"axe-core@{VERSION}"
        command = [str(find_npm()), "install", "--silent", "--prefix", str(FOLDER), wanted]
        subprocess.run(command, check=True)


def serious_faults(page: Page) -> list[str]:
    """What axe finds that is serious or critical, with the elements."""
    page.evaluate(_script().read_text(encoding="utf-8"))
    found = page.evaluate("tags => axe.run({ runOnly: tags })", TAGS)
    return [
        f"{fault['id']}: {[node['html'][:120] for node in fault['nodes'][:3]]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


def _script() -> Path:
    return FOLDER / "node_modules" / "axe-core" / "axe.min.js"
