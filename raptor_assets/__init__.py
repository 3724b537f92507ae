"""The asset graph: assets and checks from factories, keys, partitions, metadata and plots."""
