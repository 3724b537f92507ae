"""Whether an installed `raptor` works by itself: help, a build and a query with the defaults.

python tests/support/smoke.py ENVIRONMENT
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT = """# The lighthouse

The lamp was lit in 1872 and burned rape oil until 1911, when paraffin came.

In the storm of 1953 the sea broke the gallery windows, and the keeper held a coat over the pane.

The light was made automatic in 1984. The clockwork stands in the museum of the harbour.
"""


def smoke(environment: Path) -> None:
    """Run the command of an environment in an empty folder, with no model but its own.

    Raises:
        CalledProcessError: a command failed.
        SystemExit: the query did not find the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lighthouse.md").write_text(TEXT, encoding="utf-8")

        def raptor(*arguments: str) -> str:
            command = [environment.absolute() / "bin/raptor", *arguments]
            allowed = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
            given = {"cwd": folder, "env": allowed, "stdout": subprocess.PIPE, "text": True}
            return subprocess.run(command, check=True, **given).stdout

        raptor("--help")
        raptor("init", "lighthouse.md")
        built = json.loads(raptor("build", "--json"))
        found = json.loads(raptor("query", "who held the pane in the storm?", "--json"))
        if "a coat over the pane" not in json.dumps(found):
            raise SystemExit(f"the build said {built}, and the query found {found}")
    sys.stdout.write(f"{environment}: raptor --help, init, build and query work\n")


if __name__ == "__main__":
    smoke(Path(sys.argv[1]))
