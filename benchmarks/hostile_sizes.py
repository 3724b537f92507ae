"""Long files, many files, and the bytes of a table."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hostile_home import Row, build, ended, new_home, require
from measuring import peak_bytes

GROWTH = 1.6
"""How much more a unit of a large input may take than one of an input of a quarter of its size."""

PER_PARTITION = 100


def long_file(folder: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    """A file of so many lines, and one of a quarter of it, each in a process of its own."""
    found = []
    for n_lines in (arguments.lines // 4, arguments.lines):
        path = folder / f"{n_lines}.txt"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                f"Line {n} names the valve {n % 977} and its load.\n" for n in range(n_lines)
            )
        done = ended([sys.executable, __file__, str(path)])
        require(done.code == 0, done.told)
        found.append({**done.json, "lines": n_lines})
    small, large = found
    for step in ("read", "cut"):
        n_times = large[step] / max(small[step], 0.2)
        require(n_times < 4 * GROWTH, f"four times as many lines take {n_times:.1f} times as long")
    n_times = large["bytes"] / max(small["bytes"], 1)
    require(n_times < 4 * GROWTH, f"four times as many lines take {n_times:.1f} times the memory")
    yield Row(
        "a file of many lines, read and cut into leaves",
        "time and memory grow with its length",
        "as promised",
        "; ".join(
            f"{one['lines']:,} lines, {one['size'] / 1e6:.1f} MB: {one['read']:.1f} CPU s to read, "
            f"{one['cut']:.1f} to cut into {one['leaves']:,} leaves, {one['peak'] / 1e9:.2f} GB at "
            "the peak"
            for one in found
        ),
    )


def measure_file(path: Path) -> dict[str, Any]:
    """CPU seconds and memory of reading and cutting a file."""
    from raptor_core import Components, Document, Settings, load_documents
    from raptor_core.tree.leaves import make_leaves

    components = Components(Settings())
    components.chunker.chunk(Document("a.md", "The tokenizer is loaded before it is measured."))
    before = peak_bytes()
    times = [time.process_time()]
    documents = load_documents(path).documents
    times.append(time.process_time())
    leaves = make_leaves("t", documents, components)
    times.append(time.process_time())
    return {
        "size": path.stat().st_size,
        "read": times[1] - times[0],
        "cut": times[2] - times[1],
        "leaves": len(leaves),
        "peak": peak_bytes(),
        "bytes": peak_bytes() - before,
    }


def tiny_files(folder: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    """So many files of two sentences, and a quarter of them."""
    from support.workshop import prose

    found = []
    for n_files in (arguments.files // 4, arguments.files):
        root = folder / str(n_files)
        docs = new_home(root, f"[grouping]\nshards = {-(-n_files // PER_PARTITION)}\n", root / "d")
        for number in range(n_files):
            part = docs / f"part-{number // 1000}"
            part.mkdir(exist_ok=True)
            (part / f"{number}.md").write_text(prose(2, seed=number), encoding="utf-8")
        first, again = build(root), build(root)
        require(first.code == 0, first.told)
        require(again.code == 0 and not again.json["built"], "the next build did work:", again.told)
        found.append((n_files, first, again))
    per_file = [first.cpu_seconds / n for n, first, _ in found]
    require(per_file[1] < GROWTH * per_file[0], f"seconds for each file: {per_file}")
    yield Row(
        f"many files of two sentences, in partitions of {PER_PARTITION}, with a small embedder",
        "time grows with their number; the next build has nothing to do",
        "as promised",
        "; ".join(
            f"{n:,} files: {first.cpu_seconds:.1f} CPU s, then {again.cpu_seconds:.1f} with "
            "nothing changed"
            for n, first, again in found
        )
        + f"; {max(first.peak_mb for _, first, _ in found):.0f} MB at the peak",
    )


def table_bytes(folder: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    """Every so many bytes of a table changed, and every so many lengths it can be cut to."""
    from raptor_core.documents import Document
    from raptor_core.errors import DamagedTableError
    from raptor_core.tables.files import TableStore
    from raptor_core.tables.values import documents_to_table

    rng = random.Random(1)
    tables = TableStore(str(folder / "tables"))
    documents = [Document(f"{n}.md", f"text {n} of {rng.random()}") for n in range(40)]
    table = documents_to_table({"t": documents})
    path = Path(tables.write(("documents",), "p", table, {"version": "v"}))
    data, n_told, unsaid = path.read_bytes(), 0, []
    original = tables.read(("documents",), "p")
    changed = [_flipped(data, at, rng) for at in range(0, len(data), arguments.step)]
    cut = [data[:length] for length in range(0, len(data), arguments.step)]
    for damaged in (*changed, *cut):
        path.write_bytes(damaged)
        try:
            read = tables.read(("documents",), "p")
            version = tables.properties(("documents",), "p")
        except DamagedTableError:
            n_told += 1
        else:
            require(read.equals(original), "a changed table was read as something else")
            unsaid.append(version)
    require(not any(version != {"version": "v"} for version in unsaid), "a property changed")
    yield Row(
        "a bit of a Parquet table changed, and the table cut short",
        "told, or read as it was; never read as something else",
        "as promised",
        f"{len(data):,} bytes: {len(changed)} changed, {len(cut)} cuts; {n_told} told, "
        f"{len(unsaid)} read as they were",
    )


def _flipped(data: bytes, at: int, rng: random.Random) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


if __name__ == "__main__":
    print(json.dumps(measure_file(Path(sys.argv[1]))))
