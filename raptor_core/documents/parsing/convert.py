"""Files that a command of the user turns into Markdown, such as RTF by pandoc.

The command is run without a shell, on a copy of the file in a temporary folder, and is bounded in
time. ``parsers`` reads its output.
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
_REMEDY = "correct its command under source.convert, or leave it out by source.exclude"


def convert(name: FileName, data: bytes, settings: SourceSettings) -> bytes:
    """Return the Markdown that the command of a file's type writes to its standard output.

    The command reads the file at its standard input, or at the path that replaces ``{}``. It may
    take ``parse_seconds``.

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
                f"source.convert reads files of type {name.extension} by {command!r}, and its "
                f"program cannot be started: {error.strerror}; install it, correct the command, "
                "or remove it"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise UnreadableError(
                f"took more than {settings.parse_seconds:g} s to convert by {command!r}; raise "
                "source.parse_seconds, or leave it out by source.exclude"
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
    """Run of a command on a file in a folder, with files for its output and its errors.

    A pipe would stay open as long as a process that the command left behind.
    """

    def __init__(self, folder: Path, extension: str, data: bytes) -> None:
        self._input = folder / f"document{extension}"
        self._input.write_bytes(data)
        self.output, self.errors = folder / "output", folder / "errors"

    def last_errors(self) -> str:
        """Return the end of what the command wrote about errors."""
        with self.errors.open("rb") as said:
            said.seek(max(0, self.errors.stat().st_size - _ERROR_BYTES))
            return said.read().decode(errors="replace")

    def execute(self, command: str, seconds: float) -> int:
        """Return the exit code of the command, after all that it started has ended.

        Raises:
            OSError: the program cannot be started.
            subprocess.TimeoutExpired: it took more than ``seconds``.
        """
        words = [word.replace(_PATH, str(self._input)) for word in shlex.split(command)]
        with (
            self._input.open("rb") as read,
            self.output.open("wb") as written,
            self.errors.open("wb") as said,
        ):
            process = subprocess.Popen(  # noqa: S603
                words, stdin=read, stdout=written, stderr=said, start_new_session=True
            )
        try:
            with _ended_with_this_process(process.pid):
                return process.wait(seconds)
        finally:
            process.wait()


@contextmanager
def _ended_with_this_process(group: int) -> Iterator[None]:
    """End a group of processes at the end of the block, or of this process, however it ends."""
    read, write = os.pipe()
    watch = ["/bin/sh", "-c", f"read _; kill -9 -{group}"]  # the pipe ends with this process
    try:
        with (
            os.fdopen(read, "rb") as pipe,
            subprocess.Popen(watch, stdin=pipe, start_new_session=True) as watching,  # noqa: S603
        ):
            try:
                yield
            finally:
                watching.kill()
    finally:
        os.close(write)
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
