"""Files of phrases: lines in sections, section names in brackets, comments after "# "."""

import re
from pathlib import Path


def read_phrases(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the lines of each section of a file.

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
