"""How long chunks are, and how many of them end inside a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from raptor_core.nodes import Node
from raptor_core.quality.statistics import DIGITS, distribution
from raptor_core.quality.verdicts import Measured, WorstNode, check, percent
from raptor_core.settings import Settings

_CLOSING = "\"'”’»)]}*_`|"
_ENDS = ".!?…:;。！？।؟"


@dataclass(frozen=True, slots=True)
class CheckedChunks:
    """Chunks of one or more trees in document order, and the texts that they are spans of.

    ``texts`` are by tree and document; borders in a document without one are not judged.
    """

    chunks: Sequence[Node]
    texts: Mapping[tuple[str, str], str]
    settings: Settings


@check(
    "chunk_length",
    "warn",
    "Tokens of the chunks, share of those over chunking.max_tokens, and share of borders between "
    "two chunks that lie inside a sentence.",
)
def chunk_length(given: CheckedChunks) -> Measured:
    """Whether none is over the limit, and at most ``max_cut_sentences`` of the borders cut one.

    A border cuts none where a line ends, or the text before it ends like a sentence. Windows of
    words cut by their nature, and are told and not judged.
    """
    limit, bound = given.settings.chunking.max_tokens, given.settings.checks.max_cut_sentences
    over = sorted(
        (node for node in given.chunks if node.n_tokens > limit),
        key=lambda node: (-node.n_tokens, node.id),
    )
    borders = list(_borders(given))
    cut = [node for node, is_cut in borders if is_cut]
    share = len(cut) / len(borders) if borders else 0.0
    judged = given.settings.chunking.method != "windows"
    tokens = distribution([node.n_tokens for node in given.chunks])
    numbers = {"chunks": float(tokens.n), **tokens.numbers("chunk_tokens")}
    numbers["over_limit_share"] = round(len(over) / max(1, tokens.n), DIGITS)
    if borders:
        numbers["cut_sentences_share"] = round(share, DIGITS)
    summary = (
        f"{len(over)} of {tokens.n} chunks are over {limit} tokens; {percent(share)} of the "
        f"borders cut a sentence (at most {percent(bound)})."
    )
    worst = [WorstNode.of(node, node.n_tokens, f"{node.n_tokens} tokens") for node in over]
    worst += [WorstNode.of(node, node.n_tokens, "ends inside a sentence") for node in cut]
    remedy = "Look at the texts: are they read whole, with their line ends? " + (
        "The chunker breaks its contract on chunking.max_tokens."
        if over
        else "Sentences longer than chunking.max_tokens are cut: raise it."
    )
    return Measured(not over and (share <= bound or not judged), summary, numbers, worst, remedy)


def _borders(given: CheckedChunks) -> Iterator[tuple[Node, bool]]:
    """Each chunk with one behind it in its document, and whether a sentence is cut there."""
    for before, after in pairwise(given.chunks):
        place = before.tree, before.documents[0]
        if place != (after.tree, after.documents[0]) or place not in given.texts:
            continue
        text = given.texts[place]
        between = text[before.end : after.start]
        told = text[before.start : before.end].rstrip().rstrip(_CLOSING)
        yield before, "\n" not in between and not told.endswith(tuple(_ENDS))
