"""A team's golden set: questions, and the documents or passages that answer them.

A JSONL file, one question to a line::

    {"question": "Why was hybrid propulsion rejected?", "expected": ["vessel/refit-plan.md"]}
    {"question": "When was the lamp lit?", "span": "The lamp was lit in 1872.", "tree": "point.md"}

``expected`` are ids of documents, ``span`` text of theirs; one of the two has to be there, each
may be a list. ``tree`` narrows the search. ``id``, ``kind``, ``answer`` and ``note`` are the
team's own.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raptor_core.errors import SettingsError

_READ = ("question", "expected", "span", "tree")
_OWN = ("id", "kind", "answer", "note")
EXAMPLE = '{"question": "When was it built?", "expected": ["history.md"]}'


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """A question, and what answers it.

    Attributes:
        question: as a user asks it.
        documents: ids of documents that answer it; any of them will do.
        spans: passages that answer it, as they stand in the documents.
        tree: the tree that is searched; empty for all.
        line: of the file, from 1.
        kind, answer: the team's own words, empty for none.
    """

    question: str
    documents: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()
    tree: str = ""
    line: int = 0
    kind: str = ""
    answer: str = ""


def load_golden(path: Path) -> tuple[GoldenCase, ...]:
    """The cases of a file, in order; blank lines are passed over.

    Raises:
        SettingsError: the file is missing, empty or not UTF-8, or a line is malformed; it names
            the line and what to write there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise SettingsError(
            f"there is no golden set at {path}; write one question to a line, such as {EXAMPLE}"
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text ({error}); save it as UTF-8") from error
    cases = tuple(_cases(path, text))
    if not cases:
        raise SettingsError(f"{path} holds no question; write one to a line, such as {EXAMPLE}")
    return cases


def _cases(path: Path, text: str) -> Iterator[GoldenCase]:
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except json.JSONDecodeError as error:
            raise _wrong(path, number, f"it is no JSON ({error})") from error
        if not isinstance(values, dict):
            raise _wrong(path, number, f"expected an object, got {line.strip()[:40]!r}")
        yield _case(path, number, values)


def _case(path: Path, number: int, values: Mapping[str, Any]) -> GoldenCase:
    unknown = sorted(values.keys() - {*_READ, *_OWN})
    if unknown:
        near = difflib.get_close_matches(unknown[0], _READ, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise _wrong(path, number, f"unknown key {unknown[0]!r}{meant}")
    question, tree = values.get("question"), values.get("tree", "")
    if not isinstance(question, str) or not question.strip():
        raise _wrong(path, number, f"expected a text as 'question', got {question!r}")
    if not isinstance(tree, str):
        raise _wrong(path, number, f"expected the name of a tree as 'tree', got {tree!r}")
    documents, spans = (_texts(path, number, values, key) for key in ("expected", "span"))
    if not documents and not spans:
        raise _wrong(path, number, "neither 'expected' (documents) nor 'span' (text) is given")
    own = {key: str(values.get(key) or "") for key in ("kind", "answer")}
    return GoldenCase(question, documents, spans, tree, number, **own)


def _texts(path: Path, number: int, values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = values.get(key, [])
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(t, str) and t.strip() for t in texts):
        raise _wrong(path, number, f"expected a text or a list of texts as {key!r}, got {given!r}")
    return tuple(texts)


def _wrong(path: Path, number: int, what: str) -> SettingsError:
    return SettingsError(f"{path}, line {number}: {what}; a line reads {EXAMPLE}")
