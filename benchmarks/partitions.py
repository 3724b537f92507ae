"""What a small partition costs: CPU seconds, bytes and files of each, against no Dagster.

    python benchmarks/partitions.py --documents 200

Documents of four sentences, one tree each, are built with the bundled model through ``build``
into a new home, and then by ``build_tree`` alone into memory in the same process: the ratio is
what events, tables, checks and publishing cost. The first build is of ten documents and not
counted: it loads the model and compiles. Nothing is left behind.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

from measuring import cpu_seconds, disk_bytes, make_documents

from raptor_assets.project.home import Home
from raptor_assets.specs import SCHEMAS
from raptor_assets.standalone.execute import build
from raptor_core import Components, Document, build_trees
from raptor_core.tables.files import TableStore

N_WARMING = 10


def spent_on(work: Callable[[], Any]) -> float:
    """CPU seconds that ``work`` takes."""
    before = cpu_seconds()
    work()
    return cpu_seconds() - before


def build_home(root: Path, documents: list[Document], components: Components) -> None:
    """A new home with the trees of these documents."""
    source = root / "source"
    source.mkdir(parents=True)
    for document in documents:
        (source / document.id).write_text(document.text, encoding="utf-8")
    home = Home(root / "home")
    home.create(sources=[str(source)])
    report = build(home, home.load_settings(), components=components)
    if not report.succeeded:
        raise SystemExit(f"{len(report.failed)} partitions failed: {report.failed}")


def tell_home(home: Path, n_documents: int) -> None:
    """Print what a home holds for each partition."""
    files = [path for path in home.rglob("*") if path.is_file()]
    n_bytes = disk_bytes(home)
    print(f"home: {n_bytes / n_documents / 1000:.0f} kB, {len(files) / n_documents:.1f} files each")
    query = (
        "select dagster_event_type, count(*), sum(length(event)) from event_logs "
        "where dagster_event_type like 'ASSET%' group by 1"
    )
    (index,) = home.rglob("event_log.db")
    with closing(connect(index)) as database:
        for kind, n_events, n_bytes in database.execute(query):
            each = n_events / n_documents, n_bytes / n_documents / 1000
            print(f"  {kind}: {each[0]:.1f} events, {each[1]:.1f} kB each")


def tell_tables(home: Path) -> None:
    """Print what the values of one table take to be read and written."""
    tables, copies = TableStore(str(home / "tables")), TableStore(str(home / "copies"))
    found = [
        (SCHEMAS[path.parent.name], path.relative_to(home / "tables").parent.parts, path.stem)
        for path in (home / "tables").rglob("*.parquet")
        if path.parent.name in SCHEMAS
    ]
    rows: list[list[tuple[Any, ...]]] = []

    def read() -> None:
        rows.extend(list(schema.rows(tables.read(*place))) for schema, *place in found)

    def write() -> None:
        for (schema, *place), values in zip(found, rows, strict=True):
            copies.write(*place, schema.table(values))

    reading, writing = (spent_on(work) / len(found) * 1000 for work in (read, write))
    print(f"tables: {reading:.2f} CPU ms to read, {writing:.2f} to write each")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200)
    documents = make_documents(parser.parse_args().documents)
    components = Components()
    with tempfile.TemporaryDirectory(prefix="partitions-") as folder:
        root = Path(folder)
        build_home(root / "warm", documents[:N_WARMING], components)
        whole = spent_on(lambda: build_home(root / "measured", documents, components))
        tell_home(root / "measured" / "home", len(documents))
        tell_tables(root / "measured" / "home")
    alone = spent_on(
        lambda: build_trees({doc.id: [doc] for doc in documents}, components=components)
    )
    n_documents = len(documents)
    print(f"build: {whole / n_documents:.3f} CPU s each")
    print(f"build_trees: {alone / n_documents:.3f} CPU s each; ratio {whole / alone:.1f}")


if __name__ == "__main__":
    main()
