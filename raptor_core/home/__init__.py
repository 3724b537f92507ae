"""A home as applications read it: its settings, and what it publishes. Needs no Dagster."""

from raptor_core.home.folder import HomeFolder
from raptor_core.home.retriever import HomeRetriever

__all__ = ["HomeFolder", "HomeRetriever"]
