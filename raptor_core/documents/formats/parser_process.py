"""Process that parses PDF files, since native code reads untrusted files there.

A file that ends the process, or takes too long, is skipped. The process starts at the first file
and ends with its parent. It receives the languages for OCR and a file, and answers in JSON: a
compromised process must not send a pickle.
"""

import atexit
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from multiprocessing.connection import Connection, Pipe
from threading import Lock
from typing import Any

from raptor_core.documents.base import Section
from raptor_core.documents.formats.parsed import Parsed, UnreadableError
from raptor_core.errors import MissingExtraError

MEMORY_BYTES = 2 * 2**30
"""Memory limit of the process; a page that unpacks to more ends it."""


class ParserProcess:
    """Process that starts at the first call; calls run one after the other."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None
        self._owner = 0
        self._turn = Lock()

    def parse(self, data: bytes, seconds: float, ocr: str = "") -> Parsed:
        """Parse a PDF file, or raise UnreadableError if it ends the process or takes too long."""
        if find_spec("pypdfium2") is None:
            raise MissingExtraError("pdf", "reading PDF files")
        with self._turn:
            answer = self._request((ocr.encode(), data), seconds)
        if answer is None:
            raise UnreadableError(
                f"took more than {seconds:g} s to read; split it, or raise source.parse_seconds"
            )
        if "problem" in answer:
            raise UnreadableError(answer["problem"])
        sections = tuple(Section(**section) for section in answer["sections"])
        return Parsed(**{**answer, "sections": sections, "pages": tuple(answer["pages"])})

    def close(self) -> None:
        """End the process; the next call starts a new process."""
        if self._process is not None and self._owner == os.getpid():
            self._end()

    def _request(self, messages: Sequence[bytes], seconds: float) -> dict[str, Any] | None:
        """Return the answer, or None if it did not come in time."""
        self._start()
        try:
            for message in messages:
                self._connection.send_bytes(message)
            if self._connection.poll(seconds):
                answer: dict[str, Any] = json.loads(self._connection.recv_bytes())
                return answer
        except (ConnectionError, EOFError):
            code = self._end()
            return {
                "problem": f"is damaged, or needs more than {MEMORY_BYTES >> 20} MB to read: that "
                f"ended the process that read it (exit code {code})"
            }
        except BaseException:
            self._end()
            raise
        self._end()
        return None

    def _start(self) -> None:
        """Start the process unless this process started a running one; a fork needs its own."""
        if self._process and self._owner == os.getpid() and self._process.poll() is None:
            return
        if not self._owner:
            atexit.register(self.close)
        self._owner = os.getpid()
        self._connection, remote = Pipe()
        with remote:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", f"from {__name__} import main; main({remote.fileno()})"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[remote.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def _end(self) -> int:
        """End the process and return its exit code."""
        process, self._process = self._process, None
        process.kill()
        self._connection.close()
        return int(process.wait())


PARSER = ParserProcess()


def main(descriptor: int) -> None:
    """Answer requests until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches all; this ends with its parent
    from raptor_core.documents.formats.pdf import parse_pdf

    logging.disable(logging.WARNING)  # a vendor's words about a file do not belong on the terminal
    with suppress(ImportError, OSError, ValueError):  # systems that have no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with suppress(ConnectionError, EOFError), Connection(descriptor) as connection:
        while True:
            ocr, data = connection.recv_bytes().decode(), connection.recv_bytes()
            try:
                answer = asdict(parse_pdf(data, ocr))
            except UnreadableError as error:
                answer = {"problem": str(error)}
            connection.send_bytes(json.dumps(answer, default=dict).encode())
