"""Detection of scripts and languages, and the check for summaries in another language.

The script follows from the Unicode names of letters, the language of Latin text from py3langid. It
gets words in lower case only, since names have no language. Short texts and code have no clear
language, which is None. The check finds summaries in another language than that of the children.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import ceil, inf

from raptor_core.audit.collage import is_collage
from raptor_core.checks.base import CheckedLayer, CheckMeasurement, WorstNode, check

LATIN, HAN, JAPANESE, _KANA = "Latin", "Han", "Japanese", "Kana"
_SCRIPTS = {
    script.upper(): script
    for script in (
        *(LATIN, "Greek", "Cyrillic", "Armenian", "Georgian", "Hebrew", "Arabic", "Ethiopic"),
        *("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Tamil", "Telugu", "Kannada"),
        *("Malayalam", "Sinhala", "Thai", "Lao", "Khmer"),
    )
} | {
    "CJK": HAN,
    "HIRAGANA": _KANA,
    "KATAKANA": _KANA,
    "KATAKANA-HIRAGANA": _KANA,
    "HANGUL": "Korean",
    "MYANMAR": "Burmese",
}
"""Scripts by the first word of the Unicode names of their letters."""

_MIN_KANA = 0.1
"""Minimum share of kana among kana and Han in a Japanese text."""


_CODES = (
    "af sq eu bs ca hr cs da nl en eo et fi fr gl de ht hu is id ga it la lv lt ms mt no pl pt ro "
    "sk sl es sw sv tl tr vi cy xh zu"
)
_NAMES = (
    "Afrikaans Albanian Basque Bosnian Catalan Croatian Czech Danish Dutch English Esperanto "
    "Estonian Finnish French Galician German Haitian Hungarian Icelandic Indonesian Irish Italian "
    "Latin Latvian Lithuanian Malay Maltese Norwegian Polish Portuguese Romanian Slovak Slovenian "
    "Spanish Swahili Swedish Tagalog Turkish Vietnamese Welsh Xhosa Zulu"
)
_LATIN_LANGUAGES = dict(zip(_CODES.split(), _NAMES.split(), strict=True))
"""Languages in Latin letters that can be recognized, by code."""
_ENGLISH = "English"
_MARGIN = 0.45
"""Log-likelihood per byte by which a language must lead; names lead over English by less."""
_SAMPLE_WORDS = 300
"""Number of words of a long text that are classified, evenly spread."""

_CODE = re.compile(r"[=;{}<>\\\[]|\w\(")
_MIN_CODE = 3
_KEYWORDS = frozenset(
    {"and", "as", "be", "by", "for", "from", "if", "in", "is", "not", "on", "or", "this", "with"}
)
"""Keywords of programming languages, which are not counted in a text with code."""
_PUNCTUATION = ".,;:!?…\"'“”‘’«»()[]{}*_`–—-¿¡"
MIN_WORDS = 8
"""Minimum number of words of a text with a clear language."""


@dataclass(frozen=True)
class Writing:
    """Letters of a text, and its words in lower case.

    Attributes:
        letters: number of letters by script, Kana and Han separately.
        words: words of Latin letters in lower case, without code.
    """

    letters: Counter[str]
    words: tuple[str, ...]

    def __add__(self, second: "Writing") -> "Writing":
        """Return the writing of both texts together."""
        return Writing(self.letters + second.letters, self.words + second.words)

    @cached_property
    def _scores(self) -> Mapping[str, float]:
        """Log-likelihood per byte by language; none for few words."""
        import py3langid

        if len(self.words) < MIN_WORDS:
            return {}
        sample = " ".join(self.words[:: ceil(len(self.words) / _SAMPLE_WORDS)])
        n_bytes, names = len(sample.encode()), _LATIN_LANGUAGES
        return {names[c]: score / n_bytes for c, score in py3langid.rank(sample) if c in names}

    @property
    def script(self) -> str | None:
        """Script of most letters, Japanese for Han with kana; None without a majority."""
        if not self.letters:
            return None
        kana, han = self.letters[_KANA], self.letters[HAN]
        japanese = kana > _MIN_KANA * (kana + han)
        counts = Counter({s: n for s, n in self.letters.items() if s not in {_KANA, HAN}})
        counts[JAPANESE if japanese else HAN] = kana + han
        script, count = counts.most_common(1)[0]
        return script if 2 * count > self.letters.total() else None

    def share(self, script: str) -> float:
        """Return the share of a script's letters in [0, 1]; Japanese includes Han."""
        names = (_KANA, HAN) if script in {JAPANESE, HAN} else (script,)
        return sum(self.letters[name] for name in names) / max(self.letters.total(), 1)

    @property
    def language(self) -> str | None:
        """Language of the words in Latin letters; None if it is not clear."""
        best = max(self._scores, key=self._scores.__getitem__, default=None)
        return None if best != _ENGLISH and self.speaks(_ENGLISH) else best

    def speaks(self, language: str) -> bool:
        """Return whether the words may belong to ``language``."""
        best = max(self._scores.values(), default=0.0)
        return bool(self._scores) and self._scores.get(language, -inf) > best - _MARGIN


def writing(text: str) -> Writing:
    """Count the letters of a text by script, and find its words in lower case."""
    letters = _letters(text)
    words = _words(text) if letters[LATIN] else []
    if len(_CODE.findall(text)) >= _MIN_CODE:
        words = [word for word in words if word not in _KEYWORDS]
    return Writing(letters, tuple(words))


def _letters(text: str) -> Counter[str]:
    letters: Counter[str] = Counter()
    if text.isascii():
        letters[LATIN] = sum(map(str.isalpha, text))
        return +letters
    for char, count in Counter(text).items():
        script = _script(char)
        if script:
            letters[script] += count
    return letters


def _words(text: str) -> list[str]:
    """Return words of Latin letters in lower case; ``name_1``, ``f(x)`` and ``a.b`` are code."""
    plain: list[str] = []
    for raw in text.split():
        parts = raw.strip(_PUNCTUATION).replace("’", "'").split("'")
        if all(part.isalpha() for part in parts):
            latin = (part for part in parts if len(part) > 1 and _script(part[0]) == LATIN)
            plain += filter(str.islower, latin)
    return plain


@lru_cache(maxsize=1 << 14)
def _script(char: str) -> str | None:
    if not char.isalpha():
        return None
    return _SCRIPTS.get(unicodedata.name(char, "").partition(" ")[0])


_MIN_LETTERS = {HAN: 12, JAPANESE: 16, "Korean": 16}
_MIN_LETTERS_ELSEWHERE = 40
_MIN_SHARE = 0.1


def find_switch(summary: Writing, children: Sequence[Writing]) -> tuple[str, str] | None:
    """Return the language of a summary and that of its children, if they clearly differ.

    A script or language that a child uses in part counts as a language of the children.
    """
    script = summary.script
    if script is None or not children:
        return None
    together = sum(children[1:], children[0])
    least = _MIN_LETTERS.get(script, _MIN_LETTERS_ELSEWHERE)
    if together.script is None or summary.letters.total() < least:
        return None
    if script == LATIN == together.script:
        return _language_switch(summary, together, children)
    if script == together.script or any(child.script == script for child in children):
        return None
    kin = {script, together.script} == {HAN, JAPANESE}
    if not kin and any(child.share(script) >= _MIN_SHARE for child in children):
        quoted = script == LATIN and summary.language is not None
        if not quoted or any(child.language == summary.language for child in children):
            return None
    return summary.language or script, together.script


def _language_switch(
    summary: Writing, together: Writing, children: Sequence[Writing]
) -> tuple[str, str] | None:
    mine, theirs = summary.language, together.language
    if mine is None or theirs is None or mine == theirs or summary.speaks(theirs):
        return None
    if together.speaks(mine) or any(child.language == mine for child in children):
        return None
    return mine, theirs


@check(
    "language_switch",
    "warn",
    "Share of summaries in another script or language than their children, where both are plain.",
)
def language_switch(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the share of summaries in another language than their children."""
    known = cache(writing)  # a child has several parents
    n_checked = len(layer.summaries)
    n_judged, switched = 0, []
    for node in layer.summaries:
        mine, children = writing(node.text), layer.texts_below(node)
        if is_collage(node.text, children):
            continue
        n_judged += mine.script is not None and (mine.script != LATIN or mine.language is not None)
        switch = find_switch(mine, [known(child) for child in children])
        if switch:
            switched.append(WorstNode.of(node, 1.0, f"{switch[0]}, its children {switch[1]}"))
    numbers: dict[str, float] = {
        "summaries": n_checked,
        "plain_language": n_judged,
        "switched": len(switched),
    }
    summary = "No summary to look at."
    if n_checked:
        numbers["switched_share"] = len(switched) / n_checked
        summary = (
            f"{len(switched)} of {n_checked} summaries are in another language than their "
            "children (none is allowed)."
        )
    remedy = "Ask for the documents' language: try another summarizer.model; build these again."
    return CheckMeasurement(not switched, summary, numbers, switched, remedy)
