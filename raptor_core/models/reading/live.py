"""Showing an answer while its model writes it.

What follows may still change the end of a text: half a word, a citation without its closing
bracket, a tag of the model's template. So the end is held back until more of the answer arrives.
"""

import re
from collections.abc import Callable, Hashable, Sequence

from raptor_core.models.endpoints.texts import partial_visible_text, visible_text
from raptor_core.models.reading.citations import renumber_citations

_WORD = re.compile(r"[!-~]*\Z")
"""An incomplete word or citation at the end; scripts without spaces need not wait for a space."""
_OPEN = re.compile(r"[\[［【<][^\]］】>]{0,80}\Z")
"""A bracket or tag that may still be closed."""
_FENCE, _TICK = "```", "`"
_CODE_CHARS = 200
"""Maximum characters of inline code that are held back until it is closed."""
_STEPS = 200
"""Fraction by which a long text must grow (1/200) before it is processed again, as a whole."""


class LiveText:
    """The text of an unfinished answer, with renumbered citations.

    Args:
        sources: sources that the model cites by number; see ``renumber_citations``.
        show: function that receives each new piece of the text.
    """

    def __init__(self, sources: Sequence[Hashable], show: Callable[[str], None]) -> None:
        self._sources = sources
        self._show = show
        self._raw = ""
        self._shown = ""
        self._n_read = 0

    def update(self, raw: str) -> bool:
        """Show the new stable part of an unfinished answer; return whether anything was shown."""
        self._raw = raw
        if 0 <= len(raw) - self._n_read < len(raw) // _STEPS:
            return bool(self._shown)
        self._n_read = len(raw)
        ends_word = raw[-1:].isspace()
        self._show_more(
            find_stable_beginning(
                self._renumbered(partial_visible_text(raw)) + " " * ends_word
            ).rstrip()
        )
        return bool(self._shown)

    def end(self, text: str) -> None:
        """Show the rest; ``text`` is the whole answer, in case the model did not stream."""
        final = self._renumbered(visible_text(self._raw) or text)
        if not final.startswith(self._shown):  # such as after reasoning without an opening tag
            self._shown = ""
            self._show("\n\n")
        self._show_more(final)

    def _renumbered(self, text: str) -> str:
        return renumber_citations(text, self._sources)[0]

    def _show_more(self, text: str) -> None:
        if text.startswith(self._shown) and len(text) > len(self._shown):
            piece, self._shown = text[len(self._shown) :], text
            self._show(piece)


def find_stable_beginning(text: str) -> str:
    """Return the beginning of a text that cannot change any more, whatever follows."""
    kept = _WORD.sub("", text)
    n_fences = kept.count(_FENCE)
    if n_fences % 2:  # there are no citations in a block of code
        return kept
    if (kept.count(_TICK) - 3 * n_fences) % 2:
        start = kept.rfind(_TICK)
        kept = kept[:start] if len(kept) - start < _CODE_CHARS else kept
    unclosed = _OPEN.search(kept)
    return kept[: unclosed.start()] if unclosed else kept
