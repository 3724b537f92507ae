"""Token counts by tiktoken."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from raptor_core.errors import ModelError
from raptor_core.identity import digest, fingerprint

if TYPE_CHECKING:
    import tiktoken


class TiktokenCounter:
    """Counter with an encoding of tiktoken; special tokens in a text count as plain text."""

    def __init__(self, encoding: "str | tiktoken.Encoding" = "cl100k_base") -> None:
        """Use an encoding, or load one by name; raise ModelError if that is impossible."""
        self._encoding = _load_encoding(encoding) if isinstance(encoding, str) else encoding

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the encoding's name, its size, and the tokens of a short text."""
        values = {"name": self._encoding.name, "n_vocab": self._encoding.n_vocab}
        probe = self._encoding.encode_ordinary("The quick brown fox, 3.14 — naïve 中文 🦊\n\n  x")
        return fingerprint("tiktoken", {**values, "probe": digest(*map(str, probe))})

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        return [len(tokens) for tokens in self._encoding.encode_ordinary_batch(list(texts))]

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the offsets of each token; one inside a character spans the whole character."""
        tokens = self._encoding.encode_ordinary(text)
        sizes = map(len, self._encoding.decode_tokens_bytes(tokens))
        ends = list(accumulate(sizes, initial=0))
        if text.isascii():
            return list(pairwise(ends))
        # tiktoken also encodes a lone surrogate as three bytes
        lengths = (len(character.encode("utf-8", "surrogatepass")) for character in text)
        first_bytes = list(accumulate(lengths, initial=0))
        return [
            (bisect_right(first_bytes, a) - 1, bisect_right(first_bytes, b - 1))
            for a, b in pairwise(ends)
        ]


def _load_encoding(name: str) -> "tiktoken.Encoding":
    import tiktoken

    if name not in tiktoken.list_encoding_names():
        known = ", ".join(sorted(tiktoken.list_encoding_names()))
        raise ModelError(f"tokens.encoding {name!r} is unknown to tiktoken; it knows {known}")
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:  # requests' errors are OSErrors; ValueError: bad hash
        raise ModelError(
            f"tiktoken's file for encoding {name!r} is neither cached nor downloadable ({error}): "
            "fetch it on a machine with network and set TIKTOKEN_CACHE_DIR to its folder, or set "
            'tokens.counter = "embedder"'
        ) from error
