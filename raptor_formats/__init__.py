"""Parsers of file formats: they turn bytes into a text with blocks, sections and metadata.

``table.parse`` chooses the parser by the extension of a file; ``base`` defines what a parser takes
and returns. Related formats share a folder: ``markup``, ``office``, ``pdf``, ``encoding``.
Documents, trees and settings are not known here; see ``raptor_core.documents``.
"""
