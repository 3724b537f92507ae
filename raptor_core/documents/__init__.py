"""Documents: what they are, and reading them from files, folders, tables and URLs."""
