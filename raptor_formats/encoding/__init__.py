"""Encodings of text: declared, detected, or doubtful."""
