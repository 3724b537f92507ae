"""Catalog of earlier readings, by which only changed files are read."""
