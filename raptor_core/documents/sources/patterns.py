"""Glob patterns over relative POSIX paths, as git reads those of .gitignore."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from raptor_core.errors import SourceError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".raptorignore"
"""File in a source folder that lists what is not read, one pattern per line."""

_ALL_IN = re.compile(r"/\*\*(/?)\s*$")


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    """Patterns in order, of which the last that matches decides; a folder's path ends in "/".

    Raises:
        SourceError: a pattern is malformed.
    """
    from pathspec import GitIgnoreSpec

    # pathspec takes "a/**" for "a" too; git does not, so that "!a/b" can take "a/b" back.
    given = [_ALL_IN.sub(r"/**/*\1", line.lstrip()) for line in lines]
    try:
        return GitIgnoreSpec.from_lines(given)
    except ValueError as error:
        raise SourceError(
            f"a pattern is malformed ({error}); see include and exclude under [source], and "
            f"{IGNORE_FILE} in the source folder"
        ) from error
