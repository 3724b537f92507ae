"""RAPTOR trees: build them, keep them in Qdrant, search them. Knows nothing of Dagster."""
