"""Conversion of files to Markdown with a command from the settings, such as pandoc for RTF.

The command runs without a shell, on a copy of the file in a temporary folder, with a time limit.
``files`` parses its output.
"""

import os
import shlex
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from raptor_core.documents.parsing.names import FileName
from raptor_core.errors import SourceError
from raptor_core.settings import SourceSettings
from raptor_formats.base import UnreadableError, check_size
from raptor_formats.text import one_line

_PATH = "{}"
_ERROR_BYTES = 10_000
_REMEDY = "correct its command under source.convert, or exclude it with source.exclude"


def convert_to_markdown(name: FileName, data: bytes, settings: SourceSettings) -> bytes:
    """Run the command for a file's type and return the Markdown that it writes.

    The command reads the file from its standard input or from the path that replaces ``{}``, and
    writes to its standard output. It may take ``parse_seconds``.

    Raises:
        SourceError: the program is missing.
        UnreadableError: the command failed, exceeded a limit, or wrote nothing.
    """
    command = settings.convert[name.extension]
    with tempfile.TemporaryDirectory(prefix="raptor-") as folder:
        try:
            code, output, errors = _run_command(
                command, Path(folder), name.extension, data, settings
            )
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
        check_size(output.stat().st_size, settings.max_file_mb)
        text = output.read_bytes()
        with errors.open("rb") as stderr:
            stderr.seek(max(0, errors.stat().st_size - _ERROR_BYTES))
            lines = stderr.read().decode(errors="replace").splitlines()
    if code:
        reason = next(filter(None, map(one_line, reversed(lines))), "")
        raise UnreadableError(f"{command!r} failed (exit code {code}): {reason}; {_REMEDY}")
    if not text.strip():
        raise UnreadableError(f"{command!r} wrote no text; {_REMEDY}")
    return text


def _run_command(
    command: str, folder: Path, extension: str, data: bytes, settings: SourceSettings
) -> tuple[int, Path, Path]:
    """Run a command on a file; return its exit code, and the files with its output and errors.

    Pipes would stay open for as long as any process that the command left behind. These processes
    end with the command.

    Raises:
        OSError: the program cannot be started.
        subprocess.TimeoutExpired: it took more than ``parse_seconds``.
    """
    source, output, errors = folder / f"document{extension}", folder / "output", folder / "errors"
    source.write_bytes(data)
    words = [word.replace(_PATH, str(source)) for word in shlex.split(command)]
    with source.open("rb") as stdin, output.open("wb") as stdout, errors.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603
            words, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
    try:
        return process.wait(settings.parse_seconds), output, errors
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
