"""What all tests share."""

import gc
import os
import re
import shutil
import signal
from pathlib import Path

import hypothesis
from support.clients import remember_certificates
from support.qdrant_server import summary_line
from support.stand_ins import qdrant_server

__all__ = ["qdrant_server"]

MEMORY = Path("/dev/shm")
NEEDED_BYTES = 6 << 30
"""What all tests take at the most at one time, with room to spare."""

QUICK = "not slow and not rare"
"""The marks of `make test-quick`."""
USUAL = "not rare"
"""The marks of `make test`."""
MARKED_FILE = r"^pytestmark = \[?(?:pytest\.mark\.\w+, )*pytest\.mark\.(?:%s)\b"
LEFT_OUT = {
    QUICK: re.compile(MARKED_FILE % "slow|rare", re.MULTILINE),
    USUAL: re.compile(MARKED_FILE % "rare", re.MULTILINE),
}
"""What stands in a file whose tests are all left out."""

# A deadline would be a timing assertion: the first example often pays an import.
hypothesis.settings.register_profile("raptor", deadline=None)
hypothesis.settings.register_profile("usual", deadline=None, max_examples=15)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=10)

remember_certificates()


def pytest_configure(config):
    """Fewer examples in the quick subset; temporary folders in memory where there is enough.

    ``support.examples`` scales what asks for a number of its own.
    """
    # A shell's background jobs ignore SIGINT. Processes of tests would inherit that, and Dagster
    # treats SIGTERM alike: each of them would be waited for in vain before it is killed.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    profiles = {QUICK: "quick", USUAL: "usual"}
    hypothesis.settings.load_profile(profiles.get(config.option.markexpr, "raptor"))
    # Half of the time of small builds is waiting for a disk that is to hold nothing.
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > NEEDED_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_collection_finish():
    """Keep what imports and collection made out of garbage collection, which takes a second else.

    The number of new objects after which it runs is raised, too: Python's is for small programs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_terminal_summary(terminalreporter):
    """Say which Qdrant server served."""
    terminalreporter.write_line(summary_line())


def pytest_ignore_collect(collection_path, config):
    """Files of which no test runs are not imported, with all that they need."""
    left_out = LEFT_OUT.get(config.option.markexpr)
    if left_out and collection_path.suffix == ".py":
        return True if left_out.search(collection_path.read_text(encoding="utf-8")) else None
    return None


def pytest_collection_modifyitems(items):
    """Put files with long tests first, so that no worker is left alone with one at the end.

    The longest carry a timeout of their own, long ones the mark ``slow``.
    """
    marks = ("timeout", "slow")
    long = [{item.path for item in items if item.get_closest_marker(mark)} for mark in marks]
    items.sort(key=lambda item: [item.path not in paths for paths in long])
