"""Parsers, which turn the bytes of a file into texts with sections.

Each raises UnreadableError for a file that it cannot read, and MissingExtraError without its
library. ``kinds`` is the table of formats, ``parsers`` that of the parsers,
and ``parser_process`` runs them.
"""
