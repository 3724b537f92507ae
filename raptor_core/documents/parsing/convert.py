"""Conversion of files to Markdown with a command from the settings, such as pandoc for RTF.

The command runs without a shell, on a copy of the file in a temporary folder, with a time limit.
``files`` parses its output.
"""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from raptor_core.documents.parsing.names import FileName
from raptor_core.errors import SourceError
from raptor_core.settings import SourceSettings
from raptor_formats.base import UnreadableError, check_size
from raptor_formats.text import one_line

_PATH = "{}"
_ERROR_BYTES = 10_000
_REMEDY = "correct its command under source.convert, or exclude it with source.exclude"


def convert(name: FileName, data: bytes, settings: SourceSettings) -> bytes:
    """Run the command for a file's type and return the Markdown that it writes.

    The command reads the file from its standard input or from the path that replaces ``{}``, and
    writes to its standard output. It may take ``parse_seconds``.

    Raises:
        SourceError: the program is missing.
        UnreadableError: the command failed, exceeded a limit, or wrote nothing.
    """
    command = settings.convert[name.extension]
    with tempfile.TemporaryDirectory(prefix="raptor-") as folder:
        run = _Run(Path(folder), name.extension, data)
        try:
            code = run.execute(command, settings.parse_seconds)
        except OSError as error:
            raise SourceError(
                f"source.convert converts files of type {name.extension} with {command!r}, whose "
                f"program cannot be started: {error.strerror}; install it, correct the command, "
                "or remove it"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise UnreadableError(
                f"took more than {settings.parse_seconds:g} s to convert with {command!r}; raise "
                "source.parse_seconds, or exclude it with source.exclude"
            ) from error
        check_size(run.output.stat().st_size, settings.max_file_mb)
        text, errors = run.output.read_bytes(), run.last_errors()
    if code:
        reason = next(filter(None, map(one_line, reversed(errors.splitlines()))), "")
        raise UnreadableError(f"{command!r} failed (exit code {code}): {reason}; {_REMEDY}")
    if not text.strip():
        raise UnreadableError(f"{command!r} wrote no text; {_REMEDY}")
    return text


class _Run:
    """A run of a command on a file, whose output and errors go to files in a folder.

    Pipes would stay open for as long as any process that the command left behind.
    """

    def __init__(self, folder: Path, extension: str, data: bytes) -> None:
        self._input = folder / f"document{extension}"
        self._input.write_bytes(data)
        self.output, self.errors = folder / "output", folder / "errors"

    def last_errors(self) -> str:
        """Return the end of what the command wrote to its standard error."""
        with self.errors.open("rb") as stderr:
            stderr.seek(max(0, self.errors.stat().st_size - _ERROR_BYTES))
            return stderr.read().decode(errors="replace")

    def execute(self, command: str, seconds: float) -> int:
        """Run the command, end every process that it started, and return its exit code.

        Raises:
            OSError: the program cannot be started.
            subprocess.TimeoutExpired: it took more than ``seconds``.
        """
        words = [word.replace(_PATH, str(self._input)) for word in shlex.split(command)]
        with (
            self._input.open("rb") as stdin,
            self.output.open("wb") as stdout,
            self.errors.open("wb") as stderr,
        ):
            process = subprocess.Popen(  # noqa: S603
                words, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
        try:
            with _killed_at_exit(process.pid):
                return process.wait(seconds)
        finally:
            process.wait()


@contextmanager
def _killed_at_exit(group: int) -> Iterator[None]:
    """Kill a process group at the end of the block, or if this process dies before."""
    read, write = os.pipe()
    command = ["/bin/sh", "-c", f"read _; kill -9 -{group}"]  # the pipe closes if this process dies
    try:
        with (
            os.fdopen(read, "rb") as pipe,
            subprocess.Popen(command, stdin=pipe, start_new_session=True) as watchdog,  # noqa: S603
        ):
            try:
                yield
            finally:
                watchdog.kill()
    finally:
        os.close(write)
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
