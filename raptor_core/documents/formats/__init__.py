"""Parsers: from the bytes of a file to texts with sections.

Each raises UnreadableError for a file that it cannot read (damaged, encrypted, too large, without
text), and MissingExtraError where its library is not installed.
"""
