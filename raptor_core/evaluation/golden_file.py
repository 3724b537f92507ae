"""Questions with known answers; ``docs/evaluation.md`` lists the fields of a golden set."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raptor_core.errors import SettingsError
from raptor_core.identity import to_nfc


@dataclass(frozen=True, slots=True)
class Question:
    """Question with its known answers; a field that a data set lacks is empty.

    Attributes:
        id: unique in the data set; "line 3" in a golden set.
        document: id of the document that the question is about; None for all documents.
        sources: ids of documents that answer it.
        evidence: passages that answer it, quoted from the documents.
        answers: reference answers, each of which is correct.
        options: options of a multiple-choice question.
        gold: index of the correct option, from 0.
        hard: people who skimmed the document mostly failed on it (QuALITY).
        readers: users and groups who ask; empty for everyone.
        kinds: kinds of the question or of its answers, as named in the data set.
    """

    id: str
    text: str
    document: str | None = None
    sources: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    gold: int | None = None
    hard: bool | None = None
    readers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def bootstrap_unit(self) -> str:
        """Unit of the bootstrap: the document, else the first source, else the question itself."""
        return self.document or (self.sources[0] if self.sources else self.id)


_SUGGESTED = ("question", "expected", "span", "tree", "readers")
_OTHER = ("id", "kind", "answer", "note")
EXAMPLE = '{"question": "When was it built?", "expected": ["history.md"]}'


def load_golden(path: Path) -> tuple[Question, ...]:
    """Load the questions of a golden set in order; a SettingsError names the line to correct."""
    remedy = f"write one question to a line, such as {EXAMPLE}"
    if not path.exists():
        raise SettingsError(f"there is no golden set at {path}; {remedy}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error}); a line reads {EXAMPLE}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text ({error}); save it as UTF-8") from error
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not numbered:
        raise SettingsError(f"{path} contains no question; {remedy}")
    return tuple(_parse_question(line, f"{path}, line {number}") for number, line in numbered)


def _parse_question(line: str, where: str) -> Question:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise _make_settings_error(where, f"it is not JSON ({error})") from error
    if not isinstance(row, Mapping):
        raise _make_settings_error(where, f"expected an object, got {line.strip()[:40]!r}")
    for key in sorted(row.keys() - {*_SUGGESTED, *_OTHER}):
        near = difflib.get_close_matches(key, _SUGGESTED, n=1)
        advice = f"; did you mean {near[0]!r}?" if near else ""
        raise _make_settings_error(where, f"unknown key {key!r}{advice}")
    text, tree = row.get("question"), row.get("tree") or None
    if not isinstance(text, str) or not text.strip():
        raise _make_settings_error(
            where, f"expected a text as 'question', {_read_text(row, 'question')}"
        )
    if not isinstance(tree, str | None):
        raise _make_settings_error(where, f"expected a text as 'tree', {_read_text(row, 'tree')}")
    texts = (_read_texts(row, key, where) for key in ("expected", "span", "readers"))
    documents, spans, readers = texts
    documents, readers = (tuple(map(to_nfc, names)) for names in (documents, readers))
    if not documents and not spans:
        raise _make_settings_error(
            where, "expected 'expected' (documents) or 'span' (text), got neither"
        )
    answers, kinds = (tuple(map(str, filter(None, [row.get(key)]))) for key in ("answer", "kind"))
    line_id = where.rpartition(", ")[2]
    return Question(line_id, text, tree, documents, spans, answers, readers=readers, kinds=kinds)


def _read_texts(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """Return the texts of a field, one or a list; none for a missing field."""
    value = row.get(key)
    texts = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) and t.strip() for t in texts):
        raise _make_settings_error(
            where, f"expected a text or a list of texts as {key!r}, {_read_text(row, key)}"
        )
    return tuple(texts)


def _read_text(row: Mapping[str, Any], key: str) -> str:
    return f"got {row[key]!r:.60}" if key in row else "it is missing"


def _make_settings_error(where: str, fault: str) -> SettingsError:
    return SettingsError(f"{where}: {fault}; a line reads {EXAMPLE}")
