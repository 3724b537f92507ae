"""Chunking: sentences, and chunks that end with them."""
