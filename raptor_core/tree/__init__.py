"""The tree: values, building it, its invariants, its tables."""
