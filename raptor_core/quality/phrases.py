"""Files of phrases: sections of lines under their names in brackets, and comments after "# "."""

from __future__ import annotations

import re
from pathlib import Path


def read_phrases(name: str) -> dict[str, tuple[str, ...]]:
    """The lines of each section of a file in this folder.

    A ``{section}`` in a line stands for the lines of an earlier section, as alternatives.
    """
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    sections: dict[str, tuple[str, ...]] = {}
    for part in re.split(r"^(?=\[[a-z, ]+\]$)", text, flags=re.MULTILINE)[1:]:
        head, *lines = (line for line in part.split("\n") if line and not line.startswith("# "))
        for known, phrases in sections.items():
            lines = [line.replace(f"{{{known}}}", "|".join(phrases)) for line in lines]
        sections[head.strip("[]")] = tuple(lines)
    return sections
