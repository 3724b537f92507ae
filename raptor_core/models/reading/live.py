"""An answer while its model writes it: the beginning that may be shown.

The continuation can change the end: half a word, a citation without its closing bracket, a tag of
the model's template. So the end waits until more of the answer is there.
"""

import re
from collections.abc import Callable, Hashable, Sequence

from raptor_core.models.endpoints.texts import spoken, spoken_so_far
from raptor_core.models.reading.citations import renumber

_WORD = re.compile(r"[!-~]*\Z")
"""Beginning of a word, a citation or a mark; scripts without spaces need not wait for a space."""
_OPEN = re.compile(r"[\[［【<][^\]］】>]{0,80}\Z")
"""Bracket or tag that may still be closed."""
_FENCE, _TICK = "```", "`"
_CODE_CHARS = 200
"""Most characters of code within a line that wait until it is closed."""
_STEPS = 200
"""A long text is read again only when it has grown by this part, since it is read as a whole.
"""


class LiveText:
    """Text of an answer so far, with the citations that its reader gets.

    Args:
        sources: what the numbers of the model cite, see ``renumber``.
        show: function that gets each new piece.
    """

    def __init__(self, sources: Sequence[Hashable], show: Callable[[str], None]) -> None:
        self._sources = sources
        self._show = show
        self._raw = ""
        self._shown = ""
        self._n_read = 0

    def update(self, raw: str) -> bool:
        """Show what is new and stable in an unfinished answer; return whether any was shown."""
        self._raw = raw
        if 0 <= len(raw) - self._n_read < len(raw) // _STEPS:
            return bool(self._shown)
        self._n_read = len(raw)
        ends_word = raw[-1:].isspace()
        self._add(stable_beginning(self._cited(spoken_so_far(raw)) + " " * ends_word).rstrip())
        return bool(self._shown)

    def end(self, text: str) -> None:
        """Show the rest; ``text`` is the whole answer, for a model that did not stream."""
        final = self._cited(spoken(self._raw) or text)
        if not final.startswith(self._shown):  # such as reasoning without an opening tag
            self._shown = ""
            self._show("\n\n")
        self._add(final)

    def _cited(self, text: str) -> str:
        return renumber(text, self._sources)[0]

    def _add(self, text: str) -> None:
        if text.startswith(self._shown) and len(text) > len(self._shown):
            piece, self._shown = text[len(self._shown) :], text
            self._show(piece)


def stable_beginning(text: str) -> str:
    """Return the beginning of a text that its continuation leaves as it is."""
    kept = _WORD.sub("", text)
    n_fences = kept.count(_FENCE)
    if n_fences % 2:  # in a block of code nothing is a citation
        return kept
    if (kept.count(_TICK) - 3 * n_fences) % 2:
        start = kept.rfind(_TICK)
        kept = kept[:start] if len(kept) - start < _CODE_CHARS else kept
    unclosed = _OPEN.search(kept)
    return kept[: unclosed.start()] if unclosed else kept
