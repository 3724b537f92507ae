"""Loaders of published data sets, which ``raptor_core.evaluation.datasets`` finds."""
