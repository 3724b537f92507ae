"""Tables: values as Arrow tables, and tables as Parquet files on any fsspec path."""
