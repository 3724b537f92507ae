"""Encodings of text: declared, recognized and doubted."""
