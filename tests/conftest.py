"""What all tests share."""

import hypothesis

# A deadline would be a timing assertion: the first example often pays an import.
hypothesis.settings.register_profile("raptor", deadline=None)
hypothesis.settings.load_profile("raptor")


def pytest_collection_modifyitems(items):
    """Put files with very long tests first, so that no worker is left alone with one at the end."""
    long = {item.path for item in items if item.get_closest_marker("timeout")}
    items.sort(key=lambda item: item.path not in long)
