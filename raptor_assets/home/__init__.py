"""A home on disk, and access to its source, store, tables and Dagster's records."""
