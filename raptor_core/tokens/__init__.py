"""Token counting with the embedder's tokenizer, with tiktoken, or in words.

Chunk limits and summary limits use these counts; the tokens that a model bills are in
``raptor_core.models.money``. Read ``base`` next.
"""

from raptor_core.errors import SettingsError
from raptor_core.settings.models import EmbedderSettings, TokensSettings
from raptor_core.tokens.base import TokenCounter, WordCounter
from raptor_core.tokens.embedder import TokenizerCounter, bundled_counter, model_tokenizer
from raptor_core.tokens.tiktoken_counter import TiktokenCounter

__all__ = ["TiktokenCounter", "TokenCounter", "TokenizerCounter", "WordCounter", "make_counter"]


def make_counter(tokens: TokensSettings, embedder: EmbedderSettings) -> TokenCounter:
    """Return the counter that the settings name.

    Raises:
        SettingsError: the embedder is an endpoint, whose tokenizer cannot be read.
        ModelError: the tokenizer cannot be loaded.
    """
    if tokens.counter == "tiktoken":
        return TiktokenCounter(tokens.encoding)
    if tokens.counter == "words":
        return WordCounter()
    if embedder.kind == "openai":
        raise SettingsError(
            'tokens.counter is "embedder", but an embedder of kind "openai" is an endpoint '
            'without a readable tokenizer: set tokens.counter = "tiktoken"'
        )
    if embedder.kind == "bundled":
        return bundled_counter()
    return TokenizerCounter(model_tokenizer(embedder.model, embedder.revision))
