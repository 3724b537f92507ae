"""A PgBouncer of the tests' own, which shares connections to PostgreSQL by transaction."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

from support.ports import free_port
from support.postgres import USERS, Postgres

VARIABLE = "PGBOUNCER"
"""Environment variable that names the program."""

PACKAGE = "pgbouncer"
MISSING = (
    "no PgBouncer was found and none could be installed. Install it, or name its program with "
    f"{VARIABLE}=/path/to/pgbouncer; `make test-quick` does without"
)
SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
"""


def find_pgbouncer() -> str | None:
    """Path of the program: named, or on the path, or where Debian has it."""
    return (
        os.environ.get(VARIABLE) or shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    )


@contextmanager
def pgbouncer(server: Postgres):
    """The address of a new database behind it, for as long as the context lasts."""
    program = find_pgbouncer()
    assert program, MISSING
    direct, port = server.new_database(), free_port()
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next((n for n in USERS if n in names), None) if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        folder = Path(name)
        (folder / "users").write_text(f'"raptor" "{server.password}"\n')
        settings = folder / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=server.port, port=port, folder=folder))
        for path in (folder, *folder.iterdir()):
            if user:
                shutil.chown(path, user)
        process = subprocess.Popen([program, "--quiet", settings], user=user)
        try:
            _wait(port, process)
            yield direct.replace(f":{server.port}/", f":{port}/")
        finally:
            process.kill()  # since 1.23 one that is terminated waits for its clients to go
            process.wait(30)


def _wait(port: int, process: subprocess.Popen) -> None:
    while process.poll() is None:
        try:
            create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("PgBouncer ended at once")
