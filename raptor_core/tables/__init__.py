"""Tables: values as Arrow tables, and tables as Parquet files in any place that fsspec knows.

Which table an asset has is decided in ``raptor_assets``. Read ``schema.py`` and ``files.py`` next.
"""
