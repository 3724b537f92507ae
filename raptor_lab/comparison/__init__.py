"""Comparison of retrieval systems on data sets; read ``compare.py`` first."""
