"""Backup and transfer of published trees: a folder of Parquet files and a manifest.

An export may come from a store of any kind, and be imported into a store of any kind that has the
same embedder. Homes and partitions are in ``raptor_assets/local/transfer.py``. Read
``format.py`` next, and ``docs/stores.md`` for the format.
"""
