"""Chunks of the short recipe: windows of words."""

from raptor_core.documents.base import Document
from raptor_core.settings.models import ChunkingSettings
from raptor_core.tokens import WordCounter
from raptor_lab.chunking import WindowChunker


def test_windows_are_so_many_words_wherever_sentences_end():
    text = "\n\n".join(f"Line {n} says this. " * 9 for n in range(120))
    words = text.split()
    settings = ChunkingSettings(max_tokens=200)
    chunks = WindowChunker(settings, WordCounter()).chunk(Document(id="d", text=text))
    assert [c.text.split() for c in chunks] == [
        words[at : at + 200] for at in range(0, len(words), 200)
    ]
