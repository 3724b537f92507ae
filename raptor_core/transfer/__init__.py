"""Backup and moving of published trees: a folder of Parquet files and a manifest.

An export is made from any store and goes into any store of the same embedder: from an embedded
one to a server and back, from one machine to another. ``docs/stores.md`` tells of the format.
"""
