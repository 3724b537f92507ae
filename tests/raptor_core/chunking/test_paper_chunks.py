"""Chunks of the preset ``paper`` with the real vocabulary of its counter."""

import importlib.util
import random
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest
from support.workshop import WORDS

from raptor_core.chunking import make_chunker
from raptor_core.chunking.sentences import sentences
from raptor_core.documents.base import Document
from raptor_core.settings import preset
from raptor_core.tokens.tiktoken_counter import TiktokenCounter

LIMIT = 100


@pytest.fixture(scope="module")
def counter():
    """The counter of cl100k_base, whose file comes with a package of the tests."""
    package = importlib.util.find_spec("llama_index.core")
    folder = Path(package.origin).parent / "_static" / "tiktoken_cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return TiktokenCounter("cl100k_base")


def wrapped_prose(n_sentences, width=66, seed=1):
    """Sentences of 4 to 24 words over lines of ``width`` characters."""
    rng = random.Random(seed)
    parts = [" ".join(rng.choices(WORDS, k=rng.randint(4, 24))) for _ in range(n_sentences)]
    return textwrap.fill(" ".join(f"{part.capitalize()}." for part in parts), width)


def chunks_of(text, counter, **values):
    settings = preset("paper").chunking.model_copy(update=values)
    return make_chunker(settings, counter).chunk(Document("d", text))


@pytest.mark.slow
def test_whole_sentences_across_line_ends_fill_each_chunk(counter):
    text = wrapped_prose(300)
    chunks = chunks_of(text, counter)
    ends = {end for _, end in sentences(text)}
    assert all(chunk.end in ends for chunk in chunks)
    for chunk, following in pairwise(chunks):
        first = next(end for start, end in sentences(text) if start == following.start)
        assert counter.count([text[chunk.start : first]])[0] > LIMIT >= chunk.n_tokens
    assert [chunk.n_tokens for chunk in chunks] == counter.count([chunk.text for chunk in chunks])
