"""A home as applications read it: its settings and its published trees.

Building a home is in ``raptor_assets``, which needs Dagster. Read ``retriever`` next.
"""

from raptor_core.home.folder import HomeFolder
from raptor_core.home.retriever import HomeRetriever

__all__ = ["HomeFolder", "HomeRetriever"]
