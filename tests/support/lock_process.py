"""Take every lock of a home, and print the outcome of each as JSON.

Called as ``python lock_process.py HOME STORE``; ``STORE`` has a published tree.
"""

import json
import sys
from pathlib import Path

from support.stores import open_at

from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance
from raptor_core.errors import RaptorError


def locks(home, store):
    """Functions that take a lock, by name."""
    return {
        "store": lambda: open_at(store, "edge"),
        "records": lambda: open_instance(home),
    }


if __name__ == "__main__":
    outcomes = {}
    for name, take in locks(Home(Path(sys.argv[1])), Path(sys.argv[2])).items():
        try:
            with take():
                outcomes[name] = "taken"
        except RaptorError as error:
            outcomes[name] = str(error)
    sys.stdout.write(json.dumps(outcomes))
