"""Glob patterns over relative POSIX paths, in the syntax of .gitignore."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from raptor_core.errors import SourceError

IGNORE_FILE = ".raptorignore"
"""File in a source folder that lists what is not read, one pattern per line."""

_TOKEN = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns in order; the last one that matches decides.

    ``*`` and ``?`` stay within a name, ``**`` crosses folders. A pattern without a slash
    matches at any depth, one with a slash from the source folder on; a trailing slash matches
    folders only; ``!`` takes back an earlier match. What matches a folder matches all in it.
    """

    rules: tuple[tuple[bool, re.Pattern[str]], ...]

    def match(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the patterns match this path relative to the source."""
        name = f"{path}/" if is_folder else path
        for positive, regex in reversed(self.rules):
            if regex.match(name):
                return positive
        return False


def compile_patterns(lines: Iterable[str]) -> Patterns:
    """Patterns from lines; blank ones and those that begin with ``#`` are passed over.

    Raises:
        SourceError: a pattern is malformed.
    """
    rules = []
    for raw in lines:
        line = raw.strip()
        if line and not line.startswith("#"):
            rules.append((not line.startswith("!"), _compile(line.removeprefix("!"))))
    return Patterns(tuple(rules))


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_regex(pattern))
    except re.error as error:
        raise SourceError(
            f"the pattern {pattern!r} is malformed ({error}); see include and exclude under "
            f"[source], and {IGNORE_FILE} in the source folder"
        ) from error


def _regex(pattern: str) -> str:
    body = pattern.rstrip("/")
    folders_only = body != pattern
    anchored = "/" in body
    parts = [_translate(token) for token in _TOKEN.findall(body.removeprefix("/"))]
    # A match ends the path, or goes on below the folder that it names.
    end = "/" if folders_only else r"(?:/|\Z)"
    return ("" if anchored else "(?:.*/)?") + "".join(parts) + end


def _translate(token: str) -> str:
    special = {"**/": "(?:.*/)?", "/**": "/.+", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if token in special:
        return special[token]
    if len(token) > 2 and token.startswith("["):
        negated = token[1] == "!"
        chars = re.sub(r"([\\\[\]^&~|])", r"\\\1", token[2 if negated else 1 : -1])
        return f"[{'^/' if negated else ''}{chars}]"
    return re.escape(token)
