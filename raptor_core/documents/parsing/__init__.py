"""Conversion of files and rows to documents; the parsers of formats are in ``raptor_formats``."""
