"""Builds of trees as files: kept builds, builds that wait for approval, and exports.

The file of a build is in ``build_file.py``.
"""
