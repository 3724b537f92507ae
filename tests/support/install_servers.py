"""Install what tests start beside themselves, where it is missing: PostgreSQL and Redis.

python tests/support/install_servers.py
"""

from __future__ import annotations

import os
import shutil
import subprocess

from postgres import MISSING, PACKAGE, find_programs


def install(packages: list[str]) -> None:
    """Install Debian's packages, as root and where there is apt; none starts a server here."""
    if packages and shutil.which("apt-get") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", *packages]):
            subprocess.run(["apt-get", *command], check=False, env=environment)


if __name__ == "__main__":
    install([] if find_programs() else [PACKAGE])
    if not find_programs():
        raise SystemExit(MISSING)
