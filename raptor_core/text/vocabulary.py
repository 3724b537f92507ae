"""Files of words and phrases, stop words, and stems, which join the inflections of a word.

Lexical search does not use these stems: ``store.lexical`` cuts every word to its first characters,
in all languages.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
STOPWORDS = frozenset((_HERE / "stopwords.txt").read_text(encoding="utf-8").split())
"""English words that name no topic, in lower case."""
_NO_PLURALS = ("us", "sis")
_ENDINGS = (("ied", "i"), ("ing", ""), ("ed", ""), ("li", ""))
_Y = re.compile(r"(?<=[^aeiou])y$")


def to_singular(word: str) -> str:
    """Return the singular of a regular English plural in lower case; other words unchanged."""
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word
    return f"{word[:-3]}y" if len(word) > 4 and word.endswith("ies") else word[:-1]


def stem(word: str) -> str:
    """Map the inflections of an English word in lower case to one form, only for comparison.

    Plural endings are removed first, so that "siblings" and "sibling" have the same stem.
    """
    word = _irregular_plurals().get(word, word)
    word = word if word.endswith(_NO_PLURALS) else to_singular(word)
    word = _replace_ending(_Y.sub("i", word), _ENDINGS)
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@cache
def _irregular_plurals() -> dict[str, str]:
    """Return the singular by irregular plural."""
    text = (_HERE / "plurals.txt").read_text(encoding="utf-8")
    return {plural: form for form, plural in map(str.split, text.split(","))}


def _replace_ending(word: str, endings: Sequence[tuple[str, str]]) -> str:
    """Replace the first matching ending of a word, if three letters remain."""
    for ending, replacement in endings:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)] + replacement
    return word


def read_phrases(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the lines of each section of a file: names in brackets, comments after "# ".

    A ``{section}`` in a line is replaced by the lines of an earlier section, as alternatives.
    """
    text = path.read_text(encoding="utf-8")
    sections: dict[str, tuple[str, ...]] = {}
    for part in re.split(r"^(?=\[[a-z, ]+\]$)", text, flags=re.MULTILINE)[1:]:
        head, *lines = (line for line in part.split("\n") if line and not line.startswith("# "))
        for known, phrases in sections.items():
            lines = [line.replace(f"{{{known}}}", "|".join(phrases)) for line in lines]
        sections[head.strip("[]")] = tuple(lines)
    return sections


def read_words(path: Path) -> dict[str, frozenset[str]]:
    """Read the words of each section of a file, which are separated by spaces."""
    return {name: frozenset(" ".join(lines).split()) for name, lines in read_phrases(path).items()}
