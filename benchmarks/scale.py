"""Growth: seconds, memory, disk and events of a home over corpora of 1, 4, 16 and 61 MB of text.

The source is a .jsonl or .jsonl.xz file with the fields `id` and `text`, cut to sizes that keep its
mix of short and long documents. Each phase runs in a process of its own, as `raptor build` does:
the first build, a second one without changes, one with one edited document, a plan, and two looks
of the sensor. CPU seconds are of all threads and children; the machine may be shared, so a fixed
job beside each build tells how much that slowed it (`fixed_work.py`).

With `--embedder random` vectors are sums of one random vector for each word: deterministic, cheap
and not a model. It measures everything but the model. No summary is audited then, since the judge
embeds too. With `--light` each document is cut to its first 1,500 characters, clusters are windows
and trees have two summary layers: the work on text shrinks, and what could grow with the number of
documents stays.

    python benchmarks/scale.py SOURCE --megabytes 1 4 16 61 --embedder random
    python benchmarks/scale.py SOURCE --megabytes 1 4 --embedder bundled
    python benchmarks/scale.py SOURCE --megabytes 16 --embedder random --shards 50
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from measuring import disk_bytes, in_process

PHASES = ("build", "again", "edit", "plan", "look", "look again")
MEGABYTE = 1_000_000
STORE, TABLES, EVENTS, PAGES = "store", "tables", "events", "pages"
LIGHT_CHARS = 1_500


def main() -> None:
    arguments = _arguments()
    if arguments.phase:
        from scale_phase import run_phase

        print(json.dumps(run_phase(arguments)))
    else:
        for megabytes in arguments.megabytes:
            measure(arguments, megabytes)


def measure(arguments: argparse.Namespace, megabytes: float) -> None:
    """All phases over one size, each in a process of its own; prints what they measured."""
    root = Path(tempfile.mkdtemp(prefix="scale-", dir=arguments.root))
    try:
        cut = LIGHT_CHARS if arguments.light else None
        n_documents, n_chars = write_sample(arguments.source, megabytes, root / "source", cut)
        print(f"\n## {n_chars / MEGABYTE:.1f} MB, {n_documents} documents", flush=True)
        for phase in arguments.phases:
            if phase == "edit":
                _edit_one(root / "source")
            report = _in_process(arguments, phase, root)
            if phase == "build":
                report["facts"] = facts(root / "home")
            report |= {"phase": phase, "documents": n_documents, "chars": n_chars}
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(
                        json.dumps({**report, "shards": arguments.shards, "light": arguments.light})
                        + "\n"
                    )
            print(_told(report), flush=True)
    finally:
        if arguments.keep:
            print(f"kept {root}")
        else:
            shutil.rmtree(root)


def write_sample(
    source: Path, megabytes: float, folder: Path, cut: int | None = None
) -> tuple[int, int]:
    """Write files of this size into ten folders; return numbers of documents and characters.

    Ordered by length, every k-th document is taken, so that each size has the same mix. ``cut``
    then leaves so many characters of each.
    """
    opener = lzma.open if source.suffix == ".xz" else open
    with opener(source, "rt", encoding="utf-8") as lines:
        texts = sorted((json.loads(line)["text"] for line in lines), key=lambda t: (len(t), t))
    step = max(1.0, sum(map(len, texts)) / (megabytes * MEGABYTE))
    chosen = [texts[int(at)][:cut] for at in np.arange(step / 2, len(texts), step)]
    for number, text in enumerate(chosen):
        path = folder / f"part-{number % 10}" / f"{number:06d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(chosen), sum(map(len, chosen))


def _edit_one(folder: Path) -> None:
    """Change one sentence of a document of middle length."""
    paths = sorted(folder.rglob("*.md"))
    path = paths[len(paths) // 2]
    text = path.read_text(encoding="utf-8")
    at = text.find(". ", len(text) // 2)
    path.write_text(f"{text[:at]}. A valve was replaced in May{text[at:]}", encoding="utf-8")


def _in_process(arguments: argparse.Namespace, phase: str, root: Path) -> dict[str, Any]:
    given = ["--phase", phase, "--root", root, "--embedder", arguments.embedder]
    given += ["--shards", arguments.shards, *(["--light"] if arguments.light else [])]
    given += ["--profile", arguments.profile] if arguments.profile else []
    found: dict[str, Any] = in_process(__file__, *given)
    return found


def facts(home: Path) -> dict[str, Any]:
    """Measure a home: nodes and tokens by the published manifests, bytes and events."""
    from raptor_core.settings.models import StoreSettings
    from raptor_core.store import open_store

    with open_store(StoreSettings(), home / "qdrant") as store:
        manifests = store.manifests()
    (index,) = (home / "dagster").rglob("event_log.db")
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        counted = "select count(*), count(distinct run_id) from event_logs"
        n_events, n_runs = connection.execute(counted).fetchone()
    return {
        "trees": len(manifests),
        "leaves": sum(m.layer_sizes[0] for m in manifests),
        "nodes": sum(sum(m.layer_sizes) for m in manifests),
        "tokens": sum(m.n_tokens for m in manifests),
        "events": n_events,
        "runs": n_runs,
        "bytes": {
            STORE: disk_bytes(home / "qdrant"),
            TABLES: disk_bytes(home / "tables"),
            EVENTS: disk_bytes(home / "dagster"),
            PAGES: disk_bytes(home / "reports"),
        },
        "files": sum(path.is_file() for path in home.rglob("*")),
    }


def _told(report: dict[str, Any]) -> str:
    told = f"{report['phase']}: {report['cpu']:.1f} s CPU, {report['wall']:.1f} s wall, peak "
    memory = f"{report['own'] / 2**20:.0f} MB ({report['own_before'] / 2**20:.0f} before), "
    mapped = f"{report['rss'] / 2**20:.0f} MB with mapped files"
    return "\n".join([told + memory + mapped, *_details(report)])


def _details(report: dict[str, Any]) -> Iterator[str]:
    for name in ("n_built", "failed", "n_runs", "n_unchanged", "n_to_build", "n_calls"):
        if report.get(name):
            yield f"  {name} {report[name]}"
    if "facts" in report:
        found = report["facts"]
        n_tokens, n_nodes, n_trees = found["tokens"], found["nodes"], found["trees"]
        yield f"  {found}"
        yield f"  {1e6 * report['cpu'] / n_tokens:.1f} s CPU per million tokens"
        yield f"  {found['events'] / n_trees:.1f} event rows per tree"
        for name, size in found["bytes"].items():
            yield f"  {name}: {size / n_nodes:.0f} bytes per node, {size / n_trees:.0f} per tree"
    if report.get("stages"):
        stages = sorted(report["stages"].items(), key=lambda pair: -pair[1])
        yield "  CPU: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in stages)
    if report.get("batches"):
        yield from _growth(report["batches"])


def _growth(batches: list[dict[str, float]]) -> Iterator[str]:
    """Seconds of the first and of the second half of the batches, as on an idle machine."""
    half = len(batches) // 2
    for name, part in (("first", batches[:half]), ("last", batches[half:])):
        n_bytes = sum(batch["bytes"] for batch in part)
        if not half or not n_bytes:
            continue
        seconds = sum(batch["cpu"] / batch["slowdown"] for batch in part)
        own = max(batch["own"] for batch in part) / 2**20
        yield (
            f"  {name} {sum(batch['partitions'] for batch in part):.0f} partitions: "
            f"{1e6 * seconds / n_bytes:.1f} s a MB undisturbed, {own:.0f} MB in use at the most"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 4, 16, 61])
    parser.add_argument("--embedder", choices=["random", "bundled"], default="random")
    parser.add_argument("--shards", type=int, default=0)
    parser.add_argument("--light", action="store_true", help="see above")
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    parser.add_argument("--root", type=Path, help="where the homes are put")
    parser.add_argument("--keep", action="store_true", help="leave the homes there")
    parser.add_argument("--json", type=Path, help="append what was measured to this file")
    parser.add_argument("--profile", type=Path, help="folder for a cProfile of each phase")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
