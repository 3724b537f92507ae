"""Files that a command of the user turns into Markdown, such as RTF by pandoc.

The command is run without a shell, on a copy of the file in a temporary folder, and is bounded in
time. ``parsers`` reads its output.
"""

import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from raptor_core.documents.formats.kinds import FileName
from raptor_core.documents.formats.parsed import UnreadableError, check_size, one_line
from raptor_core.errors import SourceError
from raptor_core.settings import SourceSettings

_PATH = "{}"
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
        path = Path(folder) / f"document{name.extension}"
        path.write_bytes(data)
        try:
            process = _start(command, path)
        except OSError as error:
            raise SourceError(
                f"source.convert reads files of type {name.extension} by {command!r}, and its "
                f"program cannot be started: {error.strerror}; install it, correct the command, "
                "or remove it"
            ) from error
        with process:
            try:
                text, errors = process.communicate(timeout=settings.parse_seconds)
            except subprocess.TimeoutExpired as error:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it started
                raise UnreadableError(
                    f"took more than {settings.parse_seconds:g} s to convert by {command!r}; raise "
                    "source.parse_seconds, or leave it out by source.exclude"
                ) from error
    check_size(len(text), settings.max_file_mb)
    if code := process.returncode:
        lines = [one_line(line) for line in errors.decode(errors="replace").splitlines()]
        reason = next(filter(None, reversed(lines)), "")
        raise UnreadableError(f"{command!r} failed (exit code {code}): {reason}; {_REMEDY}")
    if not text.strip():
        raise UnreadableError(f"{command!r} wrote no text; {_REMEDY}")
    return text


def _start(command: str, path: Path) -> "subprocess.Popen[bytes]":
    with path.open("rb") as file:
        return subprocess.Popen(  # noqa: S603
            [word.replace(_PATH, str(path)) for word in shlex.split(command)],
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
