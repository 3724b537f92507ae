"""Reading of a home by applications: its settings and published trees.

Building is in ``raptor_assets``, which needs Dagster. Read ``retriever`` next.
"""

from raptor_core.home.folder import HomeFolder
from raptor_core.home.retriever import HomeRetriever

__all__ = ["HomeFolder", "HomeRetriever"]
