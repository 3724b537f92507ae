"""Parsers of file formats: bytes in, a text with its blocks, sections and metadata out.

``table.parse`` reads a file by its extension, ``base`` says what a parser takes and returns. Each
family of formats has a folder: ``markup``, ``office``, ``pdf``, ``encoding``. Nothing here knows
documents, trees or settings; ``raptor_core.documents`` does.
"""
