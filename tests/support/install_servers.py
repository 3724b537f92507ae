"""Install what tests start beside themselves, where it is missing.

PostgreSQL, Redis, axe, and a small chat model.

python tests/support/install_servers.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from support import (
    axe,
    local_model,
    postgres,
    redis_server,
)

SERVERS = (
    (postgres, postgres.find_programs),
    (redis_server, redis_server.find_redis),
    (axe, axe.find_npm),
)


def install(packages: list[str]) -> None:
    """Install Debian's packages, as root and where there is apt; tests need no service of them."""
    if packages and shutil.which("apt-get") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", *packages]):
            subprocess.run(["apt-get", *command], check=False, env=environment)


if __name__ == "__main__":
    install([module.PACKAGE for module, find in SERVERS if not find()])
    missing = [module.MISSING for module, find in SERVERS if not find()]
    if missing:
        raise SystemExit("; ".join(missing))
    axe.install_axe()
    local_model.install_model()
