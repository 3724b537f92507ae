"""RAPTOR trees: building them, storing them in Qdrant and searching them, without Dagster.

Importing this package loads no model or vendor library; the names in ``__init__.pyi`` are loaded
when they are used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
