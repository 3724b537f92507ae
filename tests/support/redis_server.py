"""A Redis server of the tests' own, on loopback, with a password and nothing on disk."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import time
from contextlib import contextmanager

from support.ports import free_port

VARIABLE = "REDIS_SERVER"
"""Environment variable that names the program."""

PACKAGE = "redis-server"
MISSING = (
    "no Redis server was found and none could be installed. Install it, or name its program with "
    f"{VARIABLE}=/path/to/redis-server; `make test` does without"
)


def find_redis() -> str | None:
    """Path of the program: named, or on the path."""
    return os.environ.get(VARIABLE) or shutil.which("redis-server")


@contextmanager
def redis_server(folder):
    """Address of a server for as long as the context lasts."""
    import redis

    program = find_redis()
    assert program, MISSING
    port, password = free_port(), secrets.token_hex(12)
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    settings = folder / "redis.conf"
    settings.write_text(
        f'port {port}\nbind 127.0.0.1\nrequirepass {password}\nsave ""\ndir {folder}\n'
    )
    process = subprocess.Popen(
        [program, str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with redis.Redis.from_url(url) as client:
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(30)
