"""Whether a model's answer is a summary of its sources at all: no junk, in their language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from raptor_core.audit.collage import is_collage
from raptor_core.quality.junk import find_junk
from raptor_core.quality.language_switch import find_switch
from raptor_core.quality.languages import writing


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why an answer is no summary; ``language`` is what it should have been written in."""

    reason: str
    language: str = ""


def find_unfit(text: str, sources: Sequence[str]) -> Unfit | None:
    """Why ``text`` is no summary of ``sources``; None where nothing speaks against it."""
    junk = find_junk(text, sources)
    if junk is not None:
        return Unfit(f"the answer is junk ({junk.kind}): {junk.excerpt[:80]!r}")
    switch = find_switch(writing(text), [writing(source) for source in sources])
    if switch is None or is_collage(text, sources):
        return None
    found, expected = switch
    return Unfit(f"the answer is in {found}, its sources in {expected}", expected)
