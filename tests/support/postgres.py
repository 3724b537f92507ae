"""A PostgreSQL server of the tests' own, on loopback."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from support.ports import free_port

VARIABLE = "POSTGRES_BIN"
"""Environment variable that names the folder of initdb and pg_ctl."""

PLACES = ("usr/lib/postgresql/*/bin", "opt/homebrew/opt/postgresql*/bin", "usr/local/pgsql/bin")
PACKAGE = "postgresql"
MISSING = (
    "no PostgreSQL server was found and none could be installed. Install it, or name the folder "
    f"of its programs with {VARIABLE}=/path/to/bin; `make test` does without"
)
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    # Nothing here has to survive a loss of power; a kill is survived all the same.
    "fsync": "off",
    "log_min_messages": "fatal",
}
USERS = ("postgres", "nobody")
"""The server refuses to run as root; then it runs as the first of these that there is."""


def find_programs() -> Path | None:
    """Folder of the newest PostgreSQL's programs: named, on the path, or the system's."""
    named, on_path = os.environ.get(VARIABLE), shutil.which("initdb")
    folders = [Path(named)] if named else []
    folders += [Path(on_path).parent] if on_path else []
    for place in PLACES:
        folders += sorted(Path("/").glob(place), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


class Postgres:
    """A running server with one role and password; each test takes a database of its own."""

    def __init__(self, folder: Path, programs: Path, user: str | None) -> None:
        self._folder = folder
        self._programs = programs
        self._user = user
        self.password = secrets.token_hex(12)
        self.port = free_port()
        self._count = 0

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            cwd=self._folder,
            user=self._user,
            group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
            extra_groups=None if self._user is None else [],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout

    def create(self) -> None:
        """Make the data folder."""
        secret = self._folder / "password"
        secret.write_text(self.password)
        arguments = ("--auth=scram-sha-256", "--username=raptor", "--encoding=UTF8", "--no-locale")
        data = self._folder / "data"
        if self._user is not None:
            for path in (self._folder, secret):
                shutil.chown(path, self._user)
        self._run("initdb", "--no-sync", *arguments, f"--pwfile={secret}", f"--pgdata={data}")

    def start(self) -> None:
        """Start on the same port as before; returns when it takes connections."""
        options = " ".join(f"-c {name}='{value}'" for name, value in OPTIONS.items())
        log = self._folder / "log"
        options = f"{options} -p {self.port}"
        # The log takes the server's output, so that nobody waits for a pipe that it holds.
        self._run("pg_ctl", "start", "-w", "-D", self._folder / "data", "-l", log, "-o", options)

    def stop(self) -> None:
        """Cut all connections and end."""
        self._run("pg_ctl", "stop", "-w", "-m", "fast", "-D", self._folder / "data")

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return int((self._folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def wait_for_its_end(self, pid: int) -> None:
        """Wait until a killed server's children have noticed; before, a new one would refuse."""
        deadline = time.monotonic() + 120
        while _has_children(pid) and time.monotonic() < deadline:
            time.sleep(0.05)

    def url(self, database: str, password: str | None = None) -> str:
        """Address of a database, with the password."""
        given = self.password if password is None else password
        return f"postgresql+psycopg2://raptor:{given}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database; its address."""
        import psycopg2

        self._count += 1
        name = f"home_{self._count}"
        connection = psycopg2.connect(self.url("postgres").replace("+psycopg2", ""))
        connection.autocommit = True
        try:
            connection.cursor().execute(f"create database {name}")
        finally:
            connection.close()
        return self.url(name)


@contextmanager
def postgres_server():
    """A server for as long as the context lasts."""
    programs = find_programs()
    assert programs, MISSING
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next((n for n in USERS if n in names), None) if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        server = Postgres(Path(folder), programs, user)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _has_children(pid: int) -> bool:
    """Whether processes of a server's group are left; a server leads a group of its own."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
