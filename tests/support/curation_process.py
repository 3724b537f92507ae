"""A process that decides again and again, and prints the id of what it has recorded."""

import itertools
import os
import sys

from raptor_core.tables.curation import record_decision
from raptor_core.tables.files import TableStore

if __name__ == "__main__":
    tables = TableStore(sys.argv[1])
    for number in itertools.count():
        made = record_decision(
            tables, "chunk", "t", f"{os.getpid()}-{number}", who="w", documents=()
        )
        sys.stdout.write(f"{made.id}\n")
        sys.stdout.flush()
