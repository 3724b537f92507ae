"""HTML pages that show trees: to explore, search and check them, each in a single file.

``values`` holds what a page shows, ``data`` turns it into JSON, ``page`` renders it, and ``web``
holds scripts and styles. ``raptor_assets`` collects the values of a home.
"""
