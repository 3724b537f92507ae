"""PDF files parsed in a process of its own: native code reads strangers' files there.

A file that ends the process, or keeps it busy for too long, is told and costs no other. The process
is started for the first file, reads one after the other, and ends with its parent. Messages are a
length in 8 bytes and so many bytes: languages for OCR and the file in one direction, JSON in the
other.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from threading import Lock
from typing import IO, Any

from raptor_core.documents.base import Section
from raptor_core.documents.formats.parsed import Parsed, UnreadableError
from raptor_core.errors import MissingExtraError

MEMORY_BYTES = 2 * 2**30
"""What the process may take; a page that unpacks to more ends it."""

_N_LENGTH = 8
_READ_BYTES = 2**20


class ParserProcess:
    """The process, started when it is needed; its calls take turns."""

    def __init__(self) -> None:
        self._process: Any = None
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
            told = self._asked((ocr.encode(), data), time.monotonic() + seconds)
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

    def _asked(self, messages: Sequence[bytes], deadline: float) -> dict[str, Any] | None:
        """The answer; None where none came in time."""
        process = self._started()
        try:
            for message in messages:
                process.stdin.write(len(message).to_bytes(_N_LENGTH, "little"))
                process.stdin.write(message)
            process.stdin.flush()
            head = _read(process.stdout, _N_LENGTH, deadline)
            body = head and _read(process.stdout, int.from_bytes(head, "little"), deadline)
        except (BrokenPipeError, EOFError):
            code = self._end()
            return {
                "problem": f"is damaged, or needs more than {MEMORY_BYTES >> 20} MB to read: that "
                f"ended the process that read it (exit code {code})"
            }
        except BaseException:
            self._end()
            raise
        if body is None:
            self._end()
            return None
        found: dict[str, Any] = json.loads(body)
        return found

    def _started(self) -> Any:
        is_own = self._owner == os.getpid()  # a fork has its parent's, which goes on with it
        if not is_own or self._process is None or self._process.poll() is not None:
            if not self._owner:
                atexit.register(self.close)
            self._owner = os.getpid()
            self._process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", f"from {__name__} import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        return self._process

    def _end(self) -> int:
        """Make sure that it has ended; its exit code."""
        process, self._process = self._process, None
        process.kill()
        process.stdin.close()
        process.stdout.close()
        return int(process.wait())


def _read(pipe: IO[bytes], n_bytes: int, deadline: float) -> bytes | None:
    """So many bytes; None where they have not come by the deadline.

    Raises:
        EOFError: the other side has ended.
    """
    found = bytearray()
    with selectors.DefaultSelector() as selector:  # select.select takes no number over 1,023
        selector.register(pipe, selectors.EVENT_READ)
        while len(found) < n_bytes:
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                return None
            part = os.read(pipe.fileno(), min(n_bytes - len(found), _READ_BYTES))
            if not part:
                raise EOFError
            found += part
    return bytes(found)


PARSER = ParserProcess()
"""The process of this program."""


def _answer(ocr: str, data: bytes) -> dict[str, Any]:
    from raptor_core.documents.formats.pdf import parse_pdf

    try:
        return asdict(parse_pdf(data, ocr))
    except UnreadableError as error:
        return {"problem": str(error)}


def main() -> None:
    """Answer until the other side has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to all; it ends with its parent
    with suppress(ImportError, OSError, ValueError):  # systems that have no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    given, taken = sys.stdin.buffer, sys.stdout.buffer
    while head := given.read(_N_LENGTH):
        ocr = given.read(int.from_bytes(head, "little")).decode()
        data = given.read(int.from_bytes(given.read(_N_LENGTH), "little"))
        body = json.dumps(_answer(ocr, data), default=dict).encode()
        taken.write(len(body).to_bytes(_N_LENGTH, "little") + body)
        taken.flush()
