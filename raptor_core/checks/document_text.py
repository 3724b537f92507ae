"""Checks for documents whose text was probably extracted wrongly, and for rows without a document.

A parser that fails raises an error. But if it returns wrong letters, no spaces or only numbers, the
text would be published like any other. ``languages`` detects the language of a text.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from raptor_core.checks.base import N_WORST, CheckMeasurement, WorstNode, check, format_percent
from raptor_core.checks.languages import detect_language
from raptor_core.documents.base import Document, Skipped
from raptor_core.documents.data_runs import find_data_runs
from raptor_core.settings import CheckSettings
from raptor_formats.base import DOUBT, UNKNOWN_GLYPHS

_PART_CHARS = 2_000
_NAMED = 5


def document_language(document: Document) -> str:
    """Return the language of a sample of a document; "" if it is unclear."""
    return detect_language(_sample_text(document.text)) or ""


MAX_GLUED = 0.05
"""Maximum share of letters in words of impossible length. Programming references have 0.03, PDF
files that lost their spaces 0.06 and more."""
MAX_UNMAPPED = 0.005
"""Maximum share of replacement characters and of a font's private characters."""
MIN_LETTERS = 0.2
"""Minimum share of letters; a text with fewer consists of figures, ruled lines or dot leaders."""
MIN_PAGE_CHARS = 20
"""Minimum characters of a page with text; one with fewer is probably a picture."""
MAX_EMPTY_PAGES = 0.2
"""Maximum share of pages without text; with more, they are probably scans."""
MAX_UNKNOWN = 0.3
"""Maximum share of tokens that the embedding model does not know; with more, vectors are alike."""

UNKNOWN_REASON = (
    "are unknown to the embedding model; set embedder.kind to sentence-transformers, and "
    "embedder.model to a model of its script, such as intfloat/multilingual-e5-small or BAAI/bge-m3"
)

UnknownShare = Callable[[str], float]
"""A function that returns the share of a text's tokens that the embedding model does not know."""
_MIN_CHARS = 200
_EXCERPT_CHARS = 120
_READ_CHARS = 200_000
_GLUED = re.compile(r"[a-zß-ÿ]{22,}")
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010fffd]")
_LETTERS = re.compile(r"[^\W\d_]+")
_VISIBLE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class OddText:
    """A document whose text looks wrong: the reason, the measured value, and an excerpt."""

    document_id: str
    reason: str
    value: float
    excerpt: str


def find_odd_text(document: Document, unknown_share: UnknownShare | None = None) -> OddText | None:
    """Return what looks wrong in a text, or which part of it models cannot use, or None.

    ``unknown_share`` is None if the tokenizer of the embedding model is not available.
    """
    runs = find_data_runs(document.text)
    bounds = [0, *chain(*runs), len(document.text)]
    text = "\n".join([document.text[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=True)])
    odd = _find_parser_doubt(document) or _find_misread_text(document, text[:_READ_CHARS])
    if odd is None and unknown_share and (share := unknown_share(_sample_text(text))) > MAX_UNKNOWN:
        reason = f"{format_percent(share)} of its tokens {UNKNOWN_REASON}"
        odd = OddText(document.id, reason, share, document.text[:_EXCERPT_CHARS])
    if odd is None and runs:
        start, n_chars = runs[0][0], sum(end - start for start, end in runs)
        reason = f"{n_chars:,} characters of encoded data or minified code, which chunks omit"
        excerpt = document.text[max(0, start - 40) : start + 80]
        odd = OddText(document.id, reason, n_chars / len(document.text), excerpt)
    return odd


def _sample_text(text: str) -> str:
    """Return the beginning, the middle and the end of a long text."""
    if len(text) <= 3 * _PART_CHARS:
        return text
    starts = (0, len(text) // 2, len(text) - _PART_CHARS)
    return "\n".join(text[start : start + _PART_CHARS] for start in starts)


def _find_parser_doubt(document: Document) -> OddText | None:
    """Return the doubt that the parser recorded, with the text around the first lost letter."""
    doubt = document.metadata.get(DOUBT)
    start = max(0, document.text.find("\ufffd") - 40)
    excerpt = document.text[start : start + _EXCERPT_CHARS]
    return OddText(document.id, str(doubt), 1.0, excerpt) if doubt else None


def _find_misread_text(document: Document, text: str) -> OddText | None:
    """Return what looks wrong in a text from which runs of data were removed, or None."""
    n_visible = sum(map(len, text.split()))
    pages = pairwise([*document.pages, len(document.text)])
    n_empty = sum(len(document.text[a:b].strip()) < MIN_PAGE_CHARS for a, b in pages)
    if n_empty > MAX_EMPTY_PAGES * len(document.pages):
        reason = f"hardly any text on {n_empty} of {len(document.pages)} pages"
        return OddText(document.id, reason, float(n_empty), text[:_EXCERPT_CHARS])
    if n_visible < _MIN_CHARS:
        return None
    n_letters = sum(map(len, _LETTERS.findall(text)))
    n_glued = sum(map(len, set(_GLUED.findall(text))))
    n_unmapped = len(_UNMAPPED.findall(text))
    n_unknown = int(str(document.metadata.get(UNKNOWN_GLYPHS, 0)))
    unknown_share = n_unknown / len(document.text)
    shares = (
        (n_unmapped / n_visible, MAX_UNMAPPED, "of the characters are unreadable", _UNMAPPED),
        (unknown_share, MAX_UNMAPPED, "of the glyphs are unreadable and were omitted", _VISIBLE),
        (n_glued / max(1, n_letters), MAX_GLUED, "of the letters are in glued words", _GLUED),
        (1 - n_letters / n_visible, 1 - MIN_LETTERS, "of the characters are not letters", _VISIBLE),
    )
    for share, bound, label, pattern in shares:
        at = pattern.search(text)
        if share > bound and at:
            excerpt = text[max(0, at.start() - 40) : at.start() + 80]
            return OddText(document.id, f"{format_percent(share)} {label}", share, excerpt)
    return None


@check(
    "document_text",
    "warn",
    "Share of documents whose text was probably extracted wrongly (glued words, characters "
    "without a meaning, a doubtful encoding, hardly any letters, hardly any text on its pages), "
    "contains runs of data, or has many tokens that the embedding model does not know.",
)
def document_text(
    documents: Collection[Document],
    checks: CheckSettings,
    unknown_share: UnknownShare | None = None,
) -> CheckMeasurement:
    """Measure the share of documents that look wrong."""
    findings = (find_odd_text(document, unknown_share) for document in documents)
    odd = [finding for finding in findings if finding]
    share = len(odd) / max(1, len(documents))
    numbers = {"documents": len(documents), "odd": len(odd), "odd_share": share}
    summary = f"The text of none of {len(documents)} documents looks wrong."
    if odd:
        examples = "; ".join(f"{text.document_id}: {text.reason}" for text in odd[:N_WORST])
        summary = (
            f"The text of {len(odd)} of {len(documents)} documents looks wrong (at most "
            f"{format_percent(checks.max_odd_documents)}): {examples}."
        )
    worst = [WorstNode("", o.excerpt, o.value, o.reason, o.document_id) for o in odd]
    remedy = (
        "Look at the files with `raptor documents`: print them to PDF again, or run OCR on them; "
        "set source.encoding for text files; "
        "exclude them with source.exclude; or raise checks.max_odd_documents if their texts are "
        "correct."
    )
    return CheckMeasurement(share <= checks.max_odd_documents, summary, numbers, worst, remedy)


@check("unread_rows", "warn", "Share of an upstream asset's rows or files that are not documents.")
def unread_rows(skipped: Sequence[Skipped], n_documents: int) -> CheckMeasurement:
    """Measure the share of rows that have no text or the id of an earlier row; it must be 0.

    Files of unsupported types do not count.
    """
    unread = [item for item in skipped if not item.kind]
    share = len(unread) / max(1, len(unread) + n_documents)
    reasons = "; ".join(f"{item.name}: {item.reason}" for item in unread[:_NAMED])
    summary = f"{len(unread)} of {len(unread) + n_documents} rows or files are not documents"
    return CheckMeasurement(
        not unread,
        f"{summary}: {reasons}." if unread else f"{summary}.",
        {"n_unread": len(unread), "share": share},
        remedy="Give each row of the upstream asset a text and a unique id.",
    )
