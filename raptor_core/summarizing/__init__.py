"""Summarizers: extractive, and OpenAI-compatible chat."""
