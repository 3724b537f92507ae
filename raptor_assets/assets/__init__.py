"""The asset graph as values: assets with their names and keys, specs, versions."""
