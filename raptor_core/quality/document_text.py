"""Documents whose text looks as if it had been read wrongly, or stands out from the others.

A reader that fails says so; one that finds the wrong letters, no spaces or nothing but numbers does
not, and its text would be chunked, embedded, summarized and published like any other. So would what
stands around the text of every page, and the one file in another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from raptor_core.documents.base import Document
from raptor_core.quality.common_text import CommonText, language_of, lines_of
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
    "letters without a meaning, hardly any letters, hardly any text for the pages; or that are in "
    "another language than the others of the run; and the share of text in lines that most of "
    "these have.",
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
MAX_EMPTY_PAGES = 0.2
"""Share of pages without any text, above which they are scanned; books have blank ones, too."""

_MIN_CHARS = 200
_EXCERPT_CHARS = 120
_SHOWN_CHARS = 60
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
    """``checked`` documents, and those whose text looks wrong, in their order.

    ``compared`` documents, these included, say what is common: ``repeated`` are the lines that most
    of them have, with how many do, and ``repeated_share`` is what they are of the ``checked`` text.
    """

    checked: int
    documents: tuple[OddText, ...]
    compared: int = 0
    repeated: Mapping[str, int] = field(default_factory=dict)
    repeated_share: float = 0.0


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
    empty = [a for a, b in pairwise(document.pages) if not document.text[a:b].strip()]
    if len(empty) > MAX_EMPTY_PAGES * len(document.pages):
        reason = f"no text on {len(empty)} of {len(document.pages)} pages"
        return OddText(document.id, reason, float(len(empty)), text[:_EXCERPT_CHARS])
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


def find_foreign_text(document: Document, common: CommonText, share: float) -> OddText | None:
    """Whether a document is plainly in another language than ``share`` of all; None if not."""
    main = common.main_language(share)
    language = language_of(document) if main else ""
    if language in ("", main):
        return None
    alike = common.languages[language] / common.languages.total()
    reason = f"in {language}, as {percent(alike)} of {common.n_documents} documents; most: {main}"
    return OddText(document.id, reason, 1 - alike, document.text[:_EXCERPT_CHARS])


def measure_document_text(
    documents: Iterable[Document], common: CommonText, checks: CheckSettings
) -> OddTextReport:
    """Look at every document, by itself and beside those that ``common`` has counted."""
    repeated = common.repeated_lines(checks.repeated_line)
    found, n_checked, n_chars, n_repeated = [], 0, 0, 0
    for document in documents:
        odd = find_odd_text(document) or find_foreign_text(document, common, checks.main_language)
        found += [odd] if odd else []
        n_checked += 1
        n_chars += len(document.text)
        if repeated:
            n_repeated += sum(len(line) for line in lines_of(document) if line in repeated)
    share = n_repeated / max(1, n_chars)
    return OddTextReport(n_checked, tuple(found), common.n_documents, repeated, share)


def evaluate_document_text(report: OddTextReport, checks: CheckSettings) -> Verdict:
    """Whether few enough of the documents look wrong, and little enough of their text repeats."""
    odd, repeated = report.documents, report.repeated
    share = len(odd) / max(1, report.checked)
    numbers = {
        "documents": float(report.checked),
        "odd": float(len(odd)),
        "odd_share": share,
        "compared": float(report.compared),
        "repeated_lines": float(len(repeated)),
        "repeated_share": report.repeated_share,
    }
    repeats = report.repeated_share > checks.max_repeated
    told = [_told_odd(report, checks)] if odd else []
    told += [told_repeated(repeated, report.compared)] if repeats else []
    summary = f"The text of none of {report.checked} documents looks wrong."
    worst = [WorstNode("", o.excerpt, o.value, o.reason, o.document_id) for o in odd]
    worst += [
        WorstNode("", line, n / max(1, report.compared), f"in {n} of {report.compared} documents")
        for line, n in repeated.items()
    ]
    remedy = (
        "Look at the files by `raptor documents`: print them to PDF again, or run OCR over them; "
        "leave them out by source.exclude, or what surrounds their text by its template; or raise "
        "checks.max_odd_documents or checks.max_repeated where their text is meant so."
    )
    passed = share <= checks.max_odd_documents and not repeats
    return verdict(DOCUMENT_TEXT, passed, " ".join(told) or summary, numbers, worst, remedy)


def _told_odd(report: OddTextReport, checks: CheckSettings) -> str:
    odd = report.documents
    named = "; ".join(f"{found.document_id}: {found.reason}" for found in odd[:N_WORST])
    return (
        f"The text of {len(odd)} of {report.checked} documents looks wrong (at most "
        f"{percent(checks.max_odd_documents)}): {named}."
    )


def told_repeated(lines: Mapping[str, int], compared: int) -> str:
    """Lines that most of the compared documents have, for people; the same for all of these."""
    shown = "; ".join(f"{line[:_SHOWN_CHARS]!r} in {n}" for line, n in [*lines.items()][:N_WORST])
    return f"Lines that most of {compared} documents have ({len(lines)}): {shown}."
