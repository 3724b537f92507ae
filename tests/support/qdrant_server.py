"""A real Qdrant server of the tests' own on loopback, where a binary of one is found."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from functools import cache
from pathlib import Path

from support.ports import free_port

VARIABLE = "QDRANT_BINARY"
"""Environment variable that names the server's binary."""

KEY, READING_KEY = "may-write", "may-read"
"""Keys of every server of the tests; proxies add the first where a test wants none asked."""

PATIENCE_SECONDS = 60
OWN = {
    "QDRANT__TELEMETRY_DISABLED": "true",
    "QDRANT__LOG_LEVEL": "WARN",
    "QDRANT__SERVICE__API_KEY": KEY,
    "QDRANT__SERVICE__READ_ONLY_API_KEY": READING_KEY,
    # As Qdrant's cloud has it for new collections: what is filtered by must have an index.
    "QDRANT__STORAGE__COLLECTION__STRICT_MODE__ENABLED": "true",
    "QDRANT__STORAGE__COLLECTION__STRICT_MODE__UNINDEXED_FILTERING_RETRIEVE": "false",
    "QDRANT__STORAGE__COLLECTION__STRICT_MODE__UNINDEXED_FILTERING_UPDATE": "false",
    "QDRANT__STORAGE__COLLECTION__STRICT_MODE__MAX_PAYLOAD_INDEX_COUNT": "100",
    # Tests make hundreds of small collections; each begins with a log of this size.
    "QDRANT__STORAGE__WAL__WAL_CAPACITY_MB": "1",
}


def find_qdrant() -> Path | None:
    """The binary that the variable names, or else the path has."""
    named = os.environ.get(VARIABLE)
    found = named or shutil.which("qdrant")
    assert not named or Path(named).exists(), f"{VARIABLE}={named} is no file"
    return Path(found).resolve() if found else None


@cache
def qdrant_version() -> str:
    """Version of the binary, as it says it; empty where there is none."""
    binary = find_qdrant()
    if binary is None:
        return ""
    printed = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
    return printed.stdout.split()[-1]


def summary_line() -> str:
    """What served, in one line."""
    version = qdrant_version()
    if version:
        return f"Qdrant server {version}: {find_qdrant()}"
    return (
        "no Qdrant server was found, a stand-in over local mode served; "
        f"{VARIABLE}=/path/to/qdrant names one"
    )


class QdrantServer:
    """One server; its ports and folder stay over restarts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, grpc_port = free_port(), free_port()
        self.environ = {
            **OWN,
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(grpc_port),
            "QDRANT__STORAGE__STORAGE_PATH": str(folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(folder / "snapshots"),
        }
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, or start again; returns when it serves."""
        binary = find_qdrant()
        assert binary
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "log"
        with log.open("a") as file:
            self._process = subprocess.Popen(
                [binary],
                cwd=self.folder,
                env={**os.environ, **self.environ},
                stdout=file,
                stderr=file,
            )
        last = time.monotonic() + PATIENCE_SECONDS
        while not self.ready():
            assert self._process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < last, log.read_text()[-3000:]
            time.sleep(0.02)

    def ready(self) -> bool:
        """Whether it serves."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def kill(self) -> None:
        """End it at once, as a loss of its machine does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def client(self):
        """A client that is not the one under test, with the key that may write."""
        from qdrant_client.qdrant_remote import QdrantRemote

        # As a header, the key makes the client warn of nothing.
        return QdrantRemote(
            url=self.url, headers={"api-key": KEY}, check_compatibility=False, timeout=60
        )

    def clear(self) -> None:
        """Remove all collections, and their aliases with them."""
        client = self.client()
        for collection in client.get_collections().collections:
            client.delete_collection(collection.name)
        client.close()
