"""Embedders: the bundled model, sentence-transformers, OpenAI-compatible endpoints."""
