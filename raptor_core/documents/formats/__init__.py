"""Parsers, which turn the bytes of a file into texts with sections.

Each raises UnreadableError for a file that it cannot read, and MissingExtraError without its
library. The table of all parsers is in ``documents/sources/parsing.py``.
"""
