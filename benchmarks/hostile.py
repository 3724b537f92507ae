"""Faults that no test repeats, each tried on a home in a temporary folder; a Markdown table.

    python benchmarks/hostile.py                    # all; some ten minutes
    python benchmarks/hostile.py crowd table-bytes  # by name
    python benchmarks/hostile.py long-file --lines 1000000
    python benchmarks/hostile.py tiny-files --files 10000

    full-disk      a rebuild with less and less space on a disk of its own (root: it is mounted)
    read-only      the same disk, remounted read-only
    crowd          two publishers and twenty readers on one embedded home
    daemon-killed  kill -9 of Dagster's daemon and of its web server, under `raptor ui`, in a run
    network-cut    servers in a network namespace whose link goes down in a build (root)
    long-file      a file of many lines, read and cut into leaves
    tiny-files     many files of two sentences, built, and built again
    table-bytes    changed bytes of a Parquet table, and cuts

What needs root is left out, and said, where it may not be done. Everything that a trial starts ends
with it. Ends with 1 where a promise was broken. Clocks are of a machine that others may share:
read the CPU seconds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hostile_disks
import hostile_network
import hostile_processes
import hostile_sizes
from hostile_home import BrokenPromiseError, LeftOutError, Row
from measuring import print_head, print_row

Trial = Callable[[Path, argparse.Namespace], Iterator[Row]]

TRIALS: dict[str, Trial] = {
    "full-disk": hostile_disks.full_disk,
    "read-only": hostile_disks.read_only,
    "crowd": hostile_processes.crowd,
    "daemon-killed": hostile_processes.daemon_killed,
    "network-cut": hostile_network.network_cut,
    "long-file": hostile_sizes.long_file,
    "tiny-files": hostile_sizes.tiny_files,
    "table-bytes": hostile_sizes.table_bytes,
}


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was mounted goes, too
    print_head("trial", "fault", "promised", "happened", "figures")
    n_broken = 0
    for name in arguments.trials or TRIALS:
        for row in tried(name, arguments):
            n_broken += row.is_broken
            print_row(name, row.fault, row.promised, row.happened, row.figures)
    return 1 if n_broken else 0


def tried(name: str, arguments: argparse.Namespace) -> Iterator[Row]:
    """Rows of one trial; the last one says what was broken, or why it was left out."""
    with tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True) as folder:
        try:
            yield from TRIALS[name](Path(folder), arguments)
        except LeftOutError as error:
            yield Row("", "", f"left out: {error}")
        except BrokenPromiseError as error:
            told = " ".join(str(error).split()).replace("|", "/")
            yield Row("", "", f"**broken**: {told}", is_broken=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trials", nargs="*", choices=[[], *TRIALS], metavar="TRIAL")
    parser.add_argument("--lines", type=int, default=100_000, help="of the long file")
    parser.add_argument("--files", type=int, default=1_000, help="tiny files")
    parser.add_argument("--step", type=int, default=7, help="every so many bytes of a table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
