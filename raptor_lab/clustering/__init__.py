"""Clustering methods to compare with; settings name them, and the core finds them."""
