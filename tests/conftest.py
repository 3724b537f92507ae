"""What all tests share."""

import hypothesis

QUICK = "not slow"
"""The marks of `make test-quick`."""

# A deadline would be a timing assertion: the first example often pays an import.
hypothesis.settings.register_profile("raptor", deadline=None)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20)


def pytest_configure(config):
    """The quick subset tries fewer examples; ``support.examples`` scales what asks for its own."""
    hypothesis.settings.load_profile("quick" if config.option.markexpr == QUICK else "raptor")


def pytest_ignore_collect(collection_path, config):
    """The quick subset does not import files of long tests, with all that they need."""
    if config.option.markexpr == QUICK and collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        return True if "\npytestmark = pytest.mark.slow\n" in text else None
    return None


def pytest_collection_modifyitems(items):
    """Put files with long tests first, so that no worker is left alone with one at the end.

    The longest carry a timeout of their own, long ones the mark ``slow``.
    """
    marks = ("timeout", "slow")
    long = [{item.path for item in items if item.get_closest_marker(mark)} for mark in marks]
    items.sort(key=lambda item: [item.path not in paths for paths in long])
