"""Building of trees, layer by layer.

``build`` is the whole build as a function, ``components`` has its replaceable parts, and ``cache``
stores unfinished work. The value classes are in ``raptor_core.nodes``, their tables in
``raptor_core.tables``. Read ``build`` next.
"""
