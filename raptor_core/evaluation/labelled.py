"""Labelled summaries: documents, claims about them, and whether the claims are consistent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raptor_core.audit.base import Audited, NamedText, Segmenter
from raptor_core.errors import SourceError
from raptor_core.identity import digest

DOCUMENTS = "docs.jsonl"
PAIRS = "pairs.jsonl"
PASSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Pair:
    """One claim about one document; ``label`` says whether the document supports it."""

    id: str
    dataset: str
    document: str
    claim: str
    label: bool

    @property
    def calibrates(self) -> bool:
        """Whether its document is of the half that judges are calibrated on, by a hash of its id.

        The other half is reported.
        """
        return int(digest("half", self.document), 16) % 2 == 0


@dataclass(frozen=True, slots=True)
class Labelled:
    """Pairs in the order of the file, and the texts of their documents by id."""

    pairs: tuple[Pair, ...]
    documents: dict[str, str]

    def audited(self, pairs: Sequence[Pair], segmenter: Segmenter) -> list[Audited]:
        """Each claim as a summary of its document's passages of about 500 characters."""
        wanted = {pair.document for pair in pairs}
        passages = {name: _passages(name, self.documents[name], segmenter) for name in wanted}
        return [Audited(NamedText(pair.id, pair.claim), passages[pair.document]) for pair in pairs]


def load_labelled(folder: Path) -> Labelled:
    """Read ``docs.jsonl`` (doc_id, text) and ``pairs.jsonl``.

    A pair has pair_id, dataset, doc_id, claim, and label: 1 for consistent, 0 for not.

    Raises:
        SourceError: a file cannot be read, or a line does not hold what it must; it is named.
    """
    documents = {
        str(row["doc_id"]): str(row["text"]) for row in _rows(folder / DOCUMENTS, "doc_id", "text")
    }
    fields = ("pair_id", "dataset", "doc_id", "claim", "label")
    pairs = tuple(
        Pair(
            str(r["pair_id"]), str(r["dataset"]), str(r["doc_id"]), str(r["claim"]), r["label"] == 1
        )
        for r in _rows(folder / PAIRS, *fields)
    )
    if not pairs:
        raise SourceError(f"{folder / PAIRS} holds no pair; expected one JSON object in each line")
    for pair in pairs:
        if pair.document not in documents:
            raise SourceError(
                f"{folder / PAIRS}: pair {pair.id!r} names document {pair.document!r}, which "
                f"{folder / DOCUMENTS} does not hold"
            )
    return Labelled(pairs, documents)


def _rows(path: Path, *fields: str) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"{path} cannot be read ({error}); expected a folder with {DOCUMENTS} and {PAIRS}"
        ) from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _row(line, f"{path}, line {number}", fields)


def _row(line: str, where: str, fields: Sequence[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise SourceError(f"{where}: expected a JSON object ({error})") from error
    missing = [name for name in fields if not isinstance(row, dict) or name not in row]
    if missing:
        raise SourceError(f"{where}: the object lacks {', '.join(missing)}")
    if "label" in fields and row["label"] not in (0, 1):
        raise SourceError(f"{where}: label is {row['label']!r}, expected 1 (consistent) or 0")
    return dict(row)


def _passages(name: str, text: str, segmenter: Segmenter) -> tuple[NamedText, ...]:
    """Runs of whole sentences."""
    spans: list[tuple[int, int]] = []
    for start, end in segmenter(text):
        if spans and end - spans[-1][0] <= PASSAGE_CHARS:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple(
        NamedText(f"{name}:{at}", text[start:end]) for at, (start, end) in enumerate(spans)
    )
