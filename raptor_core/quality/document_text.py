"""Documents whose text looks as if it had been read wrongly, told by its letters alone.

A reader that fails says so; one that finds the wrong letters, no spaces or nothing but numbers does
not, and its text would be chunked, embedded, summarized and published like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from raptor_core.documents.base import Document
from raptor_core.quality.verdicts import (
    N_WORST,
    CheckInfo,
    Verdict,
    WorstNode,
    percent,
    verdict,
)
from raptor_core.settings import CheckSettings

DOCUMENT_TEXT = CheckInfo(
    "document_text",
    "warn",
    "Share of documents whose text looks as if it had been read wrongly: words glued together, "
    "letters without a meaning, hardly any letters, hardly any text for the pages.",
)
MAX_GLUED = 0.05
"""Share of letters in words too long to be any. References of programming have .03, PDF files whose
spaces were lost .06 and more."""
MAX_UNMAPPED = 0.005
"""Share of characters that stand for no letter: replacements, and a font's private ones."""
MIN_LETTERS = 0.2
"""Share of letters below which a text is figures, rules or leaders."""
MIN_PAGE_CHARS = 100
"""Characters of a page, on average, below which pages are pictures."""

_MIN_CHARS = 200
_READ_CHARS = 200_000
_GLUED = re.compile(r"[a-zß-ÿ]{22,}")
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd]")
_LETTERS = re.compile(r"[^\W\d_]+")
_VISIBLE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class OddText:
    """A document whose text looks wrong: why, for people, the number, and a piece that shows it."""

    document_id: str
    reason: str
    value: float
    excerpt: str


@dataclass(frozen=True, slots=True)
class OddTextReport:
    """``checked`` documents, and those whose text looks wrong, in their order."""

    checked: int
    documents: tuple[OddText, ...]


def find_odd_text(document: Document) -> OddText | None:
    """What looks wrong in a text, by its first characters; None where nothing does."""
    text = document.text[:_READ_CHARS]
    n_visible = sum(map(len, text.split()))
    n_pages = document.metadata.get("pages", 0)
    if isinstance(n_pages, int) and n_pages and len(text) == len(document.text):
        per_page = n_visible / n_pages
        if per_page < MIN_PAGE_CHARS:
            reason = f"{per_page:.0f} characters on each of {n_pages} pages"
            return OddText(document.id, reason, per_page, text)
    if n_visible < _MIN_CHARS:
        return None
    n_letters = sum(map(len, _LETTERS.findall(text)))
    glued, unmapped = _GLUED.findall(text), _UNMAPPED.findall(text)
    shares = (
        (len(unmapped) / n_visible, MAX_UNMAPPED, "characters that stand for no letter", _UNMAPPED),
        (
            sum(map(len, set(glued))) / max(1, n_letters),
            MAX_GLUED,
            "letters in glued words",
            _GLUED,
        ),
        (1 - n_letters / n_visible, 1 - MIN_LETTERS, "characters that are no letters", _VISIBLE),
    )
    for share, bound, what, shown in shares:
        at = shown.search(text)
        if share > bound and at:
            excerpt = text[max(0, at.start() - 40) : at.start() + 80]
            return OddText(document.id, f"{percent(share)} {what}", share, excerpt)
    return None


def measure_document_text(documents: Iterable[Document]) -> OddTextReport:
    """Look at every document."""
    found = [find_odd_text(document) for document in documents]
    return OddTextReport(len(found), tuple(odd for odd in found if odd is not None))


def evaluate_document_text(report: OddTextReport, checks: CheckSettings) -> Verdict:
    """Whether at most ``max_odd_documents`` of the documents look wrong."""
    odd = report.documents
    share = len(odd) / max(1, report.checked)
    numbers = {"documents": float(report.checked), "odd": float(len(odd)), "odd_share": share}
    summary = f"The text of none of {report.checked} documents looks wrong."
    if odd:
        named = "; ".join(f"{found.document_id}: {found.reason}" for found in odd[:N_WORST])
        summary = (
            f"The text of {len(odd)} of {report.checked} documents looks wrong (at most "
            f"{percent(checks.max_odd_documents)}): {named}."
        )
    worst = [WorstNode("", o.excerpt, o.value, o.reason, o.document_id) for o in odd]
    remedy = (
        "Look at the files: print them to PDF again, or run OCR over them; leave them out by "
        "source.exclude, or raise checks.max_odd_documents where their text is meant so."
    )
    passed = share <= checks.max_odd_documents
    return verdict(DOCUMENT_TEXT, passed, summary, numbers, worst, remedy)
