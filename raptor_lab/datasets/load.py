"""Loading of a data set; the content of its file chooses the loader."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from raptor_core.documents import load_documents
from raptor_core.documents.base import Document
from raptor_core.errors import SourceError
from raptor_core.settings import SourceSettings
from raptor_lab.datasets.base import Dataset
from raptor_lab.datasets.narrativeqa import load_narrativeqa
from raptor_lab.datasets.passages import load_passages
from raptor_lab.datasets.qasper import load_qasper
from raptor_lab.datasets.quality import load_quality
from raptor_lab.datasets.records import load_golden_dataset, load_records
from raptor_lab.datasets.rows import read_text
from raptor_lab.datasets.summaries import load_qmsum, load_squality

FORMS = (
    "expected QASPER, HotpotQA or MuSiQue (JSON), QuALITY, QMSum or SQuALITY (JSON Lines), the "
    "folder of NarrativeQA, JSON Lines of documents with 'text' and 'questions', or JSON Lines of "
    "questions with 'expected' or 'span'"
)

_LOADERS: tuple[tuple[set[str], Callable[[Path, str], Dataset]], ...] = (
    ({"meeting_transcripts"}, load_qmsum),
    ({"document", "questions"}, load_squality),
    ({"article", "questions"}, load_quality),
    ({"questions"}, load_records),
    ({"question", "paragraphs"}, load_passages),
    ({"question", "supporting_facts"}, load_passages),
)
"""Loaders by the fields of a file's first object; the first match is used."""


def load_dataset(path: Path, *, documents: Sequence[Document] = (), split: str = "test") -> Dataset:
    """Load a data set in the format that the content of the file shows.

    Args:
        path: a file, or the folder of NarrativeQA.
        documents: documents of a golden set; other formats contain their own.
        split: part of NarrativeQA: train, valid or test.

    Raises:
        SourceError: the file cannot be read, has none of the formats, or has a wrong line.
        SettingsError: a line of a golden set is wrong.
    """
    dataset = _load_by_format(path, documents, split)
    if not dataset.questions:
        raise SourceError(f"{path} contains no question; {FORMS}")
    _require_unique(path, "document", [document.id for document in dataset.documents])
    _require_unique(path, "question", [question.id for question in dataset.questions])
    return dataset


def open_dataset(path: Path, source: SourceSettings, *, split: str = "test") -> Dataset:
    """Load a data set; a golden set is about the documents of ``source``."""
    documents: tuple[Document, ...] = ()
    if source.paths and needs_documents(path):
        documents = load_documents(settings=source).documents
    return load_dataset(path, documents=documents, split=split)


def _require_unique(path: Path, kind: str, ids: Sequence[str]) -> None:
    twice = [name for name, n in Counter(ids).items() if n > 1]
    if twice:
        raise SourceError(
            f"{path} contains {len(twice)} ids of {kind}s more than once, first {twice[0]!r}; "
            "give each its own"
        )


def needs_documents(path: Path) -> bool:
    """Return whether a file contains questions without documents."""
    first = {} if path.is_dir() else _first_object(path, read_text(path))
    return "question" in first and _find_loader(first) is None


def _load_by_format(path: Path, documents: Sequence[Document], split: str) -> Dataset:
    if path.is_dir():
        return load_narrativeqa(path, split)
    text = read_text(path)
    first = _first_object(path, text)
    if load := _find_loader(first):
        return load(path, text)
    if "question" in first:
        return load_golden_dataset(path, documents)
    if first and all(isinstance(p, Mapping) and "qas" in p for p in first.values()):
        return load_qasper(path, text)
    named = ", ".join(sorted(map(str, first))[:6])
    raise SourceError(f"{path} starts with an object of {named or 'nothing'}; {FORMS}")


def _find_loader(first: Mapping[str, Any]) -> Callable[[Path, str], Dataset] | None:
    return next((load for fields, load in _LOADERS if fields <= first.keys()), None)


def _first_object(path: Path, text: str) -> Mapping[str, Any]:
    start = text.lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(start)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError(f"{path} starts with no JSON ({error}); {FORMS}") from error
    if isinstance(value, list):
        value = value[0] if value else {}
    if not isinstance(value, Mapping):
        raise SourceError(f"{path} starts with {start[:40]!r}; {FORMS}")
    return value
