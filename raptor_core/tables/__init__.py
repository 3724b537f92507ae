"""Tables: values as Arrow tables, and tables as Parquet files anywhere that fsspec supports.

``raptor_assets`` decides which tables an asset has. Read ``schema.py`` and ``files.py`` next.
"""
