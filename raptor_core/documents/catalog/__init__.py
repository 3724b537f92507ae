"""Scans of a source with a catalog of earlier readings, so that only changed files are read."""
