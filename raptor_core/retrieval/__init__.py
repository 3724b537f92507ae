"""Retrieval over published trees: collapsed, traversal, trace."""
