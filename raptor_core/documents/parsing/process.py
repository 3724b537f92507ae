"""Child processes that parse untrusted files with limits on memory and time.

Only a file that crashes its process or exceeds a limit is skipped. A process starts when a file
needs it, parses further files, and ends with its parent. There are as many processes as files that
are parsed at the same time. They answer in JSON, because a compromised process must not be able to
send a pickle. ``files`` parses a file within a process.
"""

import atexit
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import TypeAdapter

from raptor_core.documents.base import Skipped
from raptor_core.documents.parsing.files import read_file
from raptor_core.documents.parsing.names import SIMPLE, FileName, Named
from raptor_core.errors import MissingExtraError
from raptor_core.settings import SourceSettings
from raptor_formats.base import MissingLibraryError

MEMORY_BYTES = 2 * 2**30
"""Memory limit of a process; a file that unpacks to more than this crashes it."""

PARSER_FIELDS = frozenset({"encoding", "id_field", "max_file_mb", "text_field", "title_field"})
"""Settings that change how a file is parsed."""

EXIT_SECONDS = 10
"""Seconds in which a process must end after its connection broke."""

_ITEMS, _MISSING = b"+", b"!"

Items = list[Named | Skipped]


@cache
def _items_adapter() -> TypeAdapter[Items]:
    return TypeAdapter(Items)


class ParserPool:
    """Pool of parser processes; each call uses an idle process or starts one."""

    def __init__(self) -> None:
        self._idle: list[_ParserProcess] = []
        self._lock = Lock()

    def parse(self, name: FileName, data: bytes, settings: SourceSettings) -> Items:
        """Return the documents of a file, or the reason why it is skipped.

        Raises:
            MissingExtraError: the format needs an extra that is not installed.
        """
        options = settings.model_dump(mode="json", include=set(PARSER_FIELDS))
        request = json.dumps([name, options]).encode()
        process = self._take_process()
        has_read, process.has_read = process.has_read, True
        try:
            answer = process.request_answer(request, data, settings.parse_seconds)
        except (ConnectionError, EOFError):
            code = process.end_process(is_dead=True)
            if has_read:  # earlier files may have used up the memory
                return self.parse(name, data, settings)
            return [Skipped(name.id, _crash_reason(code))]
        except BaseException:
            process.end_process()
            raise
        if answer is None:
            process.end_process()
            return [Skipped(name.id, _timeout_reason(settings.parse_seconds))]
        with self._lock:
            self._idle.append(process)
        if answer.startswith(_MISSING):
            raise MissingExtraError(*json.loads(answer[1:]))
        return _items_adapter().validate_json(answer[1:])

    def close(self) -> None:
        """End all idle processes; later calls start new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end_process()

    def _take_process(self) -> "_ParserProcess":
        """Return an idle or new process; one that was started before a fork is not reused."""
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.is_usable():
                    return process
        return _ParserProcess()


class _ParserProcess:
    """A process that parses one file after another."""

    def __init__(self) -> None:
        self.has_read = False
        self._owner = os.getpid()
        self._connection, remote = Pipe()
        with remote:
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", f"from {__name__} import main; main({remote.fileno()})"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[remote.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    def is_usable(self) -> bool:
        return self._owner == os.getpid() and self.process.poll() is None

    def request_answer(self, request: bytes, data: bytes, seconds: float) -> bytes | None:
        """Send a request and return the answer, or None after ``seconds``."""
        self._connection.send_bytes(request)
        self._connection.send_bytes(data)
        return self._connection.recv_bytes() if self._connection.poll(seconds) else None

    def end_process(self, *, is_dead: bool = False) -> int:
        """Kill the process, or wait for it if it ``is_dead``, and return its exit code."""
        self._connection.close()
        if self._owner != os.getpid():
            return 0
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(EXIT_SECONDS if is_dead else 0)
        self.process.kill()
        return self.process.wait()


def _crash_reason(code: int) -> str:
    return (
        f"is damaged, or needs more than {MEMORY_BYTES >> 20} MB to parse: its parser crashed "
        f"(exit code {code}); repair or split it, or exclude it with source.exclude"
    )


def _timeout_reason(seconds: float) -> str:
    return (
        f"took more than {seconds:g} s to parse; split it, raise source.parse_seconds, or exclude "
        "it with source.exclude"
    )


PARSERS = ParserPool()
atexit.register(PARSERS.close)


def parse_safely(name: FileName, data: bytes, settings: SourceSettings) -> Items:
    """Return the documents of a file; parse formats that may be unsafe in another process.

    Files that a command converts need none, because the command has its own limits.
    """
    if name.kind in SIMPLE or name.extension in settings.convert:
        return read_file(name, data, settings)
    return PARSERS.parse(name, data, settings)


def main(descriptor: int) -> None:
    """Answer requests until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl+C, this process ends with its parent
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # other pools reserve more than the limit
    logging.disable(logging.WARNING)  # keeps warnings of libraries off the terminal
    with suppress(ImportError, OSError, ValueError):  # on systems without such a limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # After a MemoryError the process ends, because its memory is fragmented.
    ends = ConnectionError, EOFError, MemoryError
    with suppress(*ends), Connection(descriptor) as connection:
        while True:
            connection.send_bytes(_answer_request(connection.recv_bytes(), connection.recv_bytes()))


def _answer_request(request: bytes, data: bytes) -> bytes:
    values, options = json.loads(request)
    name = FileName(*values)
    try:
        items: Items = read_file(name, data, SourceSettings.model_validate(options))
    except MemoryError:
        raise
    except MissingLibraryError as error:
        return _MISSING + json.dumps([error.extra, error.purpose]).encode()
    except Exception as error:  # noqa: BLE001  # a bug of a parser must cost only one file
        items = [Skipped(name.id, _describe_bug(error))]
    return _ITEMS + _items_adapter().dump_json(items)


def _describe_bug(error: Exception) -> str:
    """Describe an unexpected error of a parser, and where it was raised."""
    at: Any = error.__traceback__
    while at.tb_next:
        at = at.tb_next
    place = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}"
    return (
        f"cannot be parsed: {type(error).__name__} at {place}, a bug of raptor; report it, and "
        "exclude the file with source.exclude"
    )
