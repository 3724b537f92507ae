"""Build of a tree from documents, layer by layer, and what a build works with.

``build`` holds the whole build as a function, ``components`` its parts, ``cache`` unfinished work.
Values of a tree are in ``raptor_core.nodes``, tables of them in ``raptor_core.tables``.
"""
