"""HTML pages that show trees, to explore, search and check them, each in a single file.

``values`` defines what a page shows, ``data`` turns it into JSON, ``page`` renders it, and ``web``
contains scripts and styles. ``raptor_assets`` collects the values of a home.
"""
