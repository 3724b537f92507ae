"""Parsers: from the bytes of a file to texts with sections."""
