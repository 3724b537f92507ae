"""Calls of models: embedding, summarizing, reading, the endpoints that serve them, their price."""
