"""What all tests share."""

import hypothesis

# A deadline would be a timing assertion: the first example often pays an import.
hypothesis.settings.register_profile("raptor", deadline=None)
hypothesis.settings.load_profile("raptor")


def pytest_collection_modifyitems(items):
    """Put files with long tests first, so that no worker is left alone with one at the end.

    The longest carry a timeout of their own, long ones the mark ``slow``.
    """
    marks = ("timeout", "slow")
    long = [{item.path for item in items if item.get_closest_marker(mark)} for mark in marks]
    items.sort(key=lambda item: [item.path not in paths for paths in long])
