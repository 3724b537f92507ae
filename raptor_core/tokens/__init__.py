"""Token counting: the embedder's own tokenizer, or tiktoken."""
