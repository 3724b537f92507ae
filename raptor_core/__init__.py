"""RAPTOR trees: build them, keep them in Qdrant, search them. Knows nothing of Dagster.

Importing this package loads no model and no vendor; the names in ``__init__.pyi`` are loaded when
they are used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
