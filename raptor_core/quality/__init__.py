"""Measures of a tree's quality: compression, cluster size, coverage, junk, support."""
