"""Documents, and how they are read from files, folders, databases and URLs.

Names are loaded when they are used, so that importing this package is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
