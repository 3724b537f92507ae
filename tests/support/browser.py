"""A Chromium for tests that look at a page: found, or installed by `make browser`.

python tests/support/browser.py
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

VARIABLE = "CHROMIUM"
"""Environment variable that names a browser to use."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ARGUMENTS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),  # WebGL without a card
    *("--disable-background-networking", "--disable-component-update"),
)
"""The pages are our own files, so a browser within a container may do without its sandbox."""

APT = "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq chromium"
MISSING = (
    "no Chromium was found. Install Chromium or Google Chrome, or name one with "
    f"{VARIABLE}=/path/to/chrome; `make browser` tries to install one"
)


def find_browser() -> str | None:
    """Path of a Chromium on this machine: named, the system's, or Playwright's own."""
    from playwright.sync_api import sync_playwright

    named = [os.environ.get(VARIABLE), *map(shutil.which, NAMES), *MAC]
    found = next((path for path in named if path and Path(path).exists()), None)
    if found is None:
        with sync_playwright() as playwright:
            own = playwright.chromium.executable_path
        found = own if Path(own).exists() else None
    return found


def install_browser() -> None:
    """Install a Chromium where there is none: Debian's as root, else Playwright's own."""
    if find_browser():
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["sh", "-c", APT], check=False)
    if not find_browser():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if not find_browser():
        raise SystemExit(MISSING)


@contextmanager
def chromium():
    """A running headless browser."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    if not path:
        pytest.skip(MISSING)
    # Python's collector crashed in Playwright's greenlet in two of ten whole runs.
    gc.disable()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
            yield browser
            browser.close()
    finally:
        gc.enable()


if __name__ == "__main__":
    install_browser()
