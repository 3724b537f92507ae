"""What a look at a source costs for each row of a table and each file: CPU and memory.

Each look is a process of its own, as `raptor build` is; of its CPU seconds and its peak of memory
those of a look at a quarter of the documents are taken off. With `--shards` the look is compared
with what Dagster has recorded, which is nothing.

    python benchmarks/look.py [--rows 400000] [--files 40000] [--shards 1000]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import in_process, peak_bytes, print_head, print_row

ROWS_PER_FILE = 1000
LOOKS = ("first", "second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--files", type=int, default=40_000)
    parser.add_argument("--rows-per-file", type=int, default=ROWS_PER_FILE)
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--home", help="used by the processes that this one starts")
    arguments = parser.parse_args()
    if arguments.home:
        print(json.dumps(look(Path(arguments.home), arguments.shards)))
        return
    print_head("of each", "look", "CPU, µs", "memory, bytes")
    for kind, write in (("row", write_rows), ("file", write_files)):
        count = getattr(arguments, f"{kind}s")
        with tempfile.TemporaryDirectory() as root:
            part, whole = Path(root) / "part", Path(root) / "whole"
            write(part / "docs", count // 4, arguments.rows_per_file)
            write(whole / "docs", count, arguments.rows_per_file)
            for name in LOOKS:
                given = ("--shards", arguments.shards, "--home")
                less, more = (in_process(__file__, *given, home) for home in (part, whole))
                each = {key: (more[key] - less[key]) / (count - count // 4) for key in less}
                print_row(kind, name, f"{1e6 * each['cpu']:.1f}", f"{each['rss']:.0f}")


def write_rows(folder: Path, count: int, rows_per_file: int) -> None:
    """Rows of 200 characters."""
    folder.mkdir(parents=True)
    for start in range(0, count, rows_per_file):
        numbers = range(start, min(count, start + rows_per_file))
        rows = (json.dumps({"id": f"row-{n}", "text": f"Row {n} says {n}. " * 12}) for n in numbers)
        (folder / f"part-{start:09d}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    _settle(folder)


def write_files(folder: Path, count: int, _rows_per_file: int) -> None:
    """Files of 200 characters, a hundred to a folder."""
    for n in range(count):
        path = folder / f"part-{n // 100:05d}" / f"document-{n:09d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"File {n} says {n}. " * 12, encoding="utf-8")
    _settle(folder)


def _settle(folder: Path) -> None:
    """Let the last write be older than what counts as being written."""
    newest = max(path.stat().st_mtime for path in folder.rglob("*"))
    time.sleep(max(0.0, newest + 5 - time.time()))


def look(home: Path, shards: int) -> dict[str, Any]:
    """One look in this process."""
    from raptor_assets.project.home import Home
    from raptor_assets.project.plan import find_changes
    from raptor_assets.project.resources import Resources
    from raptor_assets.standalone.instance import recorded
    from raptor_core.settings import Settings

    source = {"paths": [str(home / "docs")]}
    values = {"source": source, "grouping": {"shards": shards}}
    settings = Settings.model_validate(values)
    resources = Resources(settings, Home(home))
    before = time.process_time()
    inventory = resources.source.inventory()
    if shards:
        with recorded(Home(home)) as records:
            find_changes(records, settings, resources.build_version, inventory, resources.known)
    return {
        "cpu": time.process_time() - before,
        "rss": peak_bytes(),
    }


if __name__ == "__main__":
    main()
