"""PDF files parsed in a process of its own: native code reads strangers' files there.

A file that ends the process, or keeps it busy for too long, is told and costs no other. The process
is started for the first file, reads one after the other, and ends with its parent. It is sent the
languages for OCR and the file, and answers in JSON: nothing that a file gained control of may send
a pickle.
"""

from __future__ import annotations

import atexit
import json
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
"""What the process may take; a page that unpacks to more ends it."""


class ParserProcess:
    """The process, started when it is needed; its calls take turns."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None
        self._owner = 0
        self._turn = Lock()

    def parse(self, data: bytes, seconds: float, ocr: str = "") -> Parsed:
        """The text of a PDF file; ``ocr`` as in ``parse_pdf``.

        Raises:
            UnreadableError: the file cannot be read, ended the process, or took too long.
            MissingExtraError: pypdfium2 is not installed.
        """
        if find_spec("pypdfium2") is None:
            raise MissingExtraError("pdf", "reading PDF files")
        with self._turn:
            told = self._asked((ocr.encode(), data), seconds)
        if told is None:
            raise UnreadableError(
                f"took more than {seconds:g} s to read; split it, or raise source.parse_seconds"
            )
        if "problem" in told:
            raise UnreadableError(told["problem"])
        sections = tuple(Section(**section) for section in told.pop("sections"))
        return Parsed(**{**told, "sections": sections, "pages": tuple(told["pages"])})

    def close(self) -> None:
        """End the process; the next call starts another."""
        if self._process is not None and self._owner == os.getpid():
            self._end()

    def _asked(self, messages: Sequence[bytes], seconds: float) -> dict[str, Any] | None:
        """The answer; None where none came in time."""
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
        """Make sure that it runs. A fork has its parent's, which goes on with it."""
        if self._process and self._owner == os.getpid() and self._process.poll() is None:
            return
        if not self._owner:
            atexit.register(self.close)
        self._owner = os.getpid()
        self._connection, its = Pipe()
        with its:
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", f"from {__name__} import main; main({its.fileno()})"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def _end(self) -> int:
        """Make sure that it has ended; its exit code."""
        process, self._process = self._process, None
        process.kill()
        self._connection.close()
        return int(process.wait())


PARSER = ParserProcess()
"""The process of this program."""


def main(descriptor: int) -> None:
    """Answer until the other side has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to all; it ends with its parent
    from raptor_core.documents.formats.pdf import parse_pdf

    with suppress(ImportError, OSError, ValueError):  # systems that have no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with suppress(ConnectionError, EOFError), Connection(descriptor) as given:
        while True:
            ocr, data = given.recv_bytes().decode(), given.recv_bytes()
            try:
                answer = asdict(parse_pdf(data, ocr))
            except UnreadableError as error:
                answer = {"problem": str(error)}
            given.send_bytes(json.dumps(answer, default=dict).encode())
