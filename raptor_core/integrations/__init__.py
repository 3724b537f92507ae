"""Retrievers for other frameworks; each module needs the extra of its name. Read ``base`` next."""
