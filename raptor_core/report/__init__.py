"""HTML pages on which people explore, search and check trees, each in a single file.

``values`` defines what a page shows, ``data`` converts it to JSON, ``page`` renders it, and ``web``
contains scripts and styles. ``raptor_assets`` collects the values from a home.
"""
