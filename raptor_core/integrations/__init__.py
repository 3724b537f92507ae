"""Retrievers of other frameworks over ours; each needs the extra of its name."""
