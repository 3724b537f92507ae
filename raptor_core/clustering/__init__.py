"""Clustering a layer: the paper's method, contiguous windows, spherical k-means."""
