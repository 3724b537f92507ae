"""Detection of scripts and languages, and the check for summaries in another language.

The script follows from the Unicode names of letters, the language of Latin text from function
words. Short texts, code, names and mixed texts have no clear language, which is None. The check
finds summaries that a model wrote in another language than that of the children.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path

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


@cache
def languages_by_word() -> Mapping[str, tuple[str, ...]]:
    """Return the languages of each word in ``function_words.txt``."""
    text = Path(__file__).with_name("function_words.txt").read_text(encoding="utf-8")
    by_word: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        language, _, words = line.partition(": ")
        for word in words.split():
            by_word[word] = (*by_word.get(word, ()), language)
    return by_word


_CODE = re.compile(r"[=;{}<>\\\[]|\w\(")
_MIN_CODE = 3
_KEYWORDS = frozenset(
    {"and", "as", "be", "by", "for", "from", "if", "in", "is", "not", "on", "or", "this", "with"}
)
"""Keywords of programming languages, which are not counted in a text with code."""
_PUNCTUATION = ".,;:!?…\"'“”‘’«»()[]{}*_`–—-¿¡"
MIN_WORDS = 12
"""Minimum number of words of a text with a clear language."""
_MIN_HITS = 0.2
_MIN_LEAD = 1.7
_MIN_DISTINCT = 3


@dataclass(frozen=True)
class Writing:
    """Counts of a text's letters and function words, from which script and language follow.

    Attributes:
        letters: number of letters by script, with kana and Han separate.
        n_words: number of words in Latin letters, without code.
        scores: number of function words by language; a word of n languages counts 1/n for each.
    """

    letters: Counter[str]
    n_words: int
    scores: Mapping[str, float]

    def __add__(self, second: "Writing") -> "Writing":
        """Add the counts of two texts."""
        names = {**self.scores, **second.scores}
        scores = {name: self.scores.get(name, 0) + second.scores.get(name, 0) for name in names}
        return Writing(self.letters + second.letters, self.n_words + second.n_words, scores)

    @property
    def script(self) -> str | None:
        """Script of more than half of the letters, or None; "Japanese" for Han with kana."""
        if not self.letters:
            return None
        kana, han = self.letters[_KANA], self.letters[HAN]
        japanese = kana > _MIN_KANA * (kana + han)
        counts = Counter({s: n for s, n in self.letters.items() if s not in {_KANA, HAN}})
        counts[JAPANESE if japanese else HAN] = kana + han
        script, count = counts.most_common(1)[0]
        return script if 2 * count > self.letters.total() else None

    def share(self, script: str) -> float:
        """Return the share of letters in a script, in [0, 1]; Japanese includes Han."""
        names = (_KANA, HAN) if script in {JAPANESE, HAN} else (script,)
        return sum(self.letters[name] for name in names) / max(self.letters.total(), 1)

    @property
    def language(self) -> str | None:
        """Language of the words in Latin letters; None if it is unclear."""
        if self.n_words < MIN_WORDS or not self.scores:
            return None
        best, score = max(self.scores.items(), key=itemgetter(1))
        runner_up = max((n for name, n in self.scores.items() if name != best), default=0.0)
        is_clear = score >= _MIN_HITS * self.n_words and score >= _MIN_LEAD * runner_up
        return best if is_clear else None

    def may_be(self, language: str) -> bool:
        """Return whether many of the words may belong to ``language``."""
        best = max(self.scores.values(), default=0.0)
        return bool(best) and self.scores.get(language, 0.0) >= best / 3


def writing(text: str) -> Writing:
    """Count letters by script, and function words by language."""
    letters = _letters(text)
    words = _words(text) if letters[LATIN] else []
    if len(_CODE.findall(text)) >= _MIN_CODE:
        words = [word for word in words if len(word) > 1 and word not in _KEYWORDS]
    return Writing(letters, len(words), _scores(Counter(words)))


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


def _scores(words: Mapping[str, int]) -> dict[str, float]:
    scores: dict[str, float] = {}
    distinct: dict[str, int] = {}
    for word, count in words.items():
        languages = languages_by_word().get(word, ())
        for language in languages:
            distinct[language] = distinct.get(language, 0) + 1
            scores[language] = scores.get(language, 0.0) + count / len(languages)
    return {name: score for name, score in scores.items() if distinct[name] >= _MIN_DISTINCT}


def _words(text: str) -> list[str]:
    """Return the words in lower case, without code such as ``name_1``, ``f(x)`` and ``a.b``."""
    plain = []
    for raw in text.casefold().split():
        word = raw.strip(_PUNCTUATION)
        if word.isalpha():
            plain.append(word)
        elif "'" in word or "’" in word:
            parts = word.replace("’", "'").split("'")
            plain += parts if all(part.isalpha() for part in parts) else []
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
    """Return the languages of a summary and of its children if they clearly differ, else None.

    A summary may use any script or language that a child uses in part.
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
    both_use_han = {script, together.script} == {HAN, JAPANESE}
    if not both_use_han and any(child.share(script) >= _MIN_SHARE for child in children):
        quoted = script == LATIN and summary.language is not None
        if not quoted or any(child.language == summary.language for child in children):
            return None
    return summary.language or script, together.script


def _language_switch(
    summary: Writing, together: Writing, children: Sequence[Writing]
) -> tuple[str, str] | None:
    mine, theirs = summary.language, together.language
    if mine is None or theirs is None or mine == theirs or summary.may_be(theirs):
        return None
    if together.may_be(mine) or any(child.language == mine for child in children):
        return None
    return mine, theirs


@check(
    "language_switch",
    "warn",
    "Share of summaries in another script or language than their children, if both are clear.",
)
def language_switch(layer: CheckedLayer) -> CheckMeasurement:
    """Measure the share of summaries in another language than their children."""
    cached_writing = cache(writing)  # because a child may have several parents
    n_checked = len(layer.summaries)
    n_judged, switched = 0, []
    for node in layer.summaries:
        mine, children = writing(node.text), layer.texts_below(node)
        n_judged += mine.script is not None and (mine.script != LATIN or mine.language is not None)
        if is_collage(node.text, children):
            continue
        switch = find_switch(mine, [cached_writing(child) for child in children])
        if switch:
            switched.append(WorstNode.of(node, 1.0, f"{switch[0]}, its children {switch[1]}"))
    numbers: dict[str, float] = {
        "summaries": n_checked,
        "plain_language": n_judged,
        "switched": len(switched),
    }
    summary = "No summary to measure."
    if n_checked:
        numbers["switched_share"] = len(switched) / n_checked
        summary = (
            f"{len(switched)} of {n_checked} summaries are in another language than their "
            "children (none is allowed)."
        )
    remedy = "Try another summarizer.model, or name the language in the prompt, and build again."
    return CheckMeasurement(not switched, summary, numbers, switched, remedy)
