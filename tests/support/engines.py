"""Engines of the store that a test runs on, where all of them would show the same."""

import pytest

edge_only = pytest.mark.parametrize("store", ["edge"], indirect=True)
