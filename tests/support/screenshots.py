"""Make the screenshots of the README and the docs from the example handbook.

    python tests/support/screenshots.py

It builds the handbook into a temporary home, and looks at Dagster's UI and at the window with the
Chromium of the tests. It takes about one minute.
"""

import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "tests"))
RAPTOR = [str(Path(sys.executable).with_name("raptor"))]
SIZE = {"width": 1280, "height": 800}
WIDE = {"width": 1600, "height": 560}
GRAPH = {"x": 380, "y": 175, "width": 1040, "height": 230}
"""Part of the lineage page that has the graph."""
GROUPS = ("source", "layer_0", "layer_1", "layer_2", "layer_3", "published")
UI, WINDOW = "http://127.0.0.1:3971", "http://127.0.0.1:3972"
WAIT_SECONDS = 90


@contextmanager
def server(*arguments: str, address: str) -> Iterator[None]:
    """Run a command that serves, once it answers at an address."""
    process = subprocess.Popen([*RAPTOR, *arguments], stdout=subprocess.DEVNULL)
    try:
        for _ in range(WAIT_SECONDS):
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(1)
        yield
    finally:
        process.terminate()
        process.wait()


def shot_lineage(page: Any) -> None:
    """Save the asset graph with every group expanded."""
    expanded = "%2C".join(f"global%40global%3A{group}" for group in GROUPS)
    page.goto(f"{UI}/asset-groups?expanded={expanded}")
    page.wait_for_timeout(9000)
    page.get_by_text("Hide navigation").click()
    page.wait_for_timeout(3000)
    page.screenshot(path=FOLDER / "lineage.png", clip=GRAPH)


def main() -> None:
    """Build, serve, and save the pictures in ``docs/images``."""
    from support.browser import chromium

    with tempfile.TemporaryDirectory() as folder:
        home = str(Path(folder) / "home")
        handbook = str(ROOT / "examples" / "handbook")
        subprocess.run([*RAPTOR, "build", handbook, "--home", home], check=True)
        with chromium() as browser:
            page = browser.new_page(viewport=SIZE)
            with server("serve", "--home", home, "--port", WINDOW[-4:], address=WINDOW):
                page.goto(f"{WINDOW}/#corpus")
                page.locator(".tree-row").first.wait_for()
                page.screenshot(path=FOLDER / "window-corpus.png")
                page.goto(f"{WINDOW}/#map")
                page.locator(".plane[data-frames]").wait_for()
                page.wait_for_timeout(2000)
                page.screenshot(path=FOLDER / "window-map.png")
            with server("ui", "--home", home, "--port", UI[-4:], address=UI):
                shot_lineage(browser.new_page(viewport=WIDE, device_scale_factor=1.5))


if __name__ == "__main__":
    main()
