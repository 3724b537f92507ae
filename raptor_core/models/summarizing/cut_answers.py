"""Beginnings of answers that were cut off: their whole sentences, within a limit of tokens."""

from raptor_core.chunking.sentences import sentences
from raptor_core.models.summarizing.sentence import ends_sentence
from raptor_core.tokens.base import TokenCounter


def whole_sentences(text: str, counter: TokenCounter, limit: int, *, is_cut: bool) -> str:
    """Return the longest beginning of whole sentences of at most ``limit`` tokens, or "".

    The last sentence of a text that was cut off counts only if it is closed.
    """
    ends = [end for _, end in sentences(text)]
    if is_cut and ends and not ends_sentence(text[: ends[-1]]):
        ends.pop()
    while ends and counter.count([text[: ends[-1]]])[0] > limit:
        ends.pop()
    return text[: ends[-1]].strip() if ends else ""
