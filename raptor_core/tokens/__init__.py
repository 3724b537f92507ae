"""Token counting with the embedder's tokenizer, with tiktoken, or in words.

Chunk limits and summary limits use these counts; the tokens that a model bills are in
``raptor_core.models.money``. Read ``base`` next.
"""

from raptor_core.settings.models import EmbedderSettings, TokensSettings
from raptor_core.tokens.base import TokenCounter, WordCounter
from raptor_core.tokens.embedder import TokenizerCounter, bundled_counter, model_tokenizer
from raptor_core.tokens.tiktoken_counter import TiktokenCounter

__all__ = ["TiktokenCounter", "TokenCounter", "TokenizerCounter", "WordCounter", "make_counter"]


def make_counter(tokens: TokensSettings, embedder: EmbedderSettings) -> TokenCounter:
    """Return the counter that the settings name.

    The tokenizer of an endpoint is not accessible, so its tokens are counted with that of the
    bundled model, which needs no network.

    Raises:
        ModelError: the tokenizer cannot be loaded.
    """
    if tokens.counter == "tiktoken":
        return TiktokenCounter(tokens.encoding)
    if tokens.counter == "words":
        return WordCounter()
    if tokens.counter == "bundled" or embedder.kind in {"bundled", "openai"}:
        return bundled_counter()
    return TokenizerCounter(model_tokenizer(embedder.model, embedder.revision))
