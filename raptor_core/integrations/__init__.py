"""Retrievers for other frameworks, each with an extra of its name. Read ``base`` next."""
