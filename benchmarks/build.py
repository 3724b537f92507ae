"""Seconds of a build per stage, and their ratio to the floor: embedding its distinct texts.

The floor is one call of the embedder over every distinct leaf and summary text of the same tree,
in the same process, beside each build. Before it, the embedder and sentence-transformers embed the
same 500 texts in turn: the ratio of both is of one run on one machine, whose flags are named.

    python benchmarks/build.py SOURCE --tokens 50000
    python benchmarks/build.py SOURCE --tokens 50000 --cold --dagster
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from raptor_core import Components, Document, Settings, Tree, build_tree, load_documents


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        _child(arguments)
        return
    documents = sample(arguments.source, arguments.tokens)
    print(f"{len(documents)} documents of {arguments.source}, at most {arguments.tokens} tokens\n")
    if arguments.cold:
        _cold(arguments)
    _beside_sentence_transformers(documents, arguments.rounds)
    rows = [_warm_round(documents) for _ in range(arguments.rounds + 1)][1:]
    _print_stages(rows)
    _print_ratio(rows)
    if arguments.dagster:
        _dagster(documents, arguments.rounds)


def sample(source: str, n_tokens: int) -> list[Document]:
    """Documents of a source, in order, cut so that all together have about ``n_tokens``."""
    counter = Components().counter
    chosen: list[Document] = []
    room = n_tokens
    for document in load_documents(source).documents:
        spans = list(counter.token_spans(document.text))
        if len(spans) > room:
            end = spans[room - 1][1] if room else 0
            document = Document(document.id, document.text[:end], document.title)  # noqa: PLW2901
        if document.text.strip():
            chosen.append(document)
        room -= min(room, len(spans))
        if not room:
            break
    return chosen


def timed_build(
    documents: Sequence[Document], components: Components
) -> tuple[Tree, dict[str, float]]:
    """A tree, and the seconds of each kind of stage."""
    seconds: dict[str, float] = {}
    last = time.perf_counter()

    def tell(step: str, _n_nodes: int) -> None:
        nonlocal last
        now = time.perf_counter()
        stage = step.rsplit("/", 1)[-1]
        seconds[stage] = seconds.get(stage, 0.0) + now - last
        last = now

    started = last
    tree = build_tree(documents, components=components, progress=tell)
    seconds["build"] = time.perf_counter() - started
    return tree, seconds


_TOOLS = Components(Settings())


def _warm_round(documents: Sequence[Document]) -> dict[str, float]:
    tree, seconds = timed_build(documents, _TOOLS)
    texts = list({node.embedding_text for node in tree.nodes()})
    started = time.perf_counter()
    _TOOLS.embedder.embed(texts)
    seconds["floor"] = time.perf_counter() - started
    seconds["n_texts"] = len(texts)
    seconds["n_leaves"] = len(tree.layers[0].nodes)
    seconds["n_layers"] = len(tree.layers)
    return seconds


def _beside_sentence_transformers(documents: Sequence[Document], rounds: int) -> None:
    """Our vectors of 500 texts against theirs in float32, round by round in turn."""
    from sentence_transformers import SentenceTransformer

    from raptor_core.models.embedding.bundled import bundled_model_folder

    chunks = [chunk.text for document in documents for chunk in _TOOLS.chunker.chunk(document)]
    texts = sorted(set(chunks), key=len)[:: max(1, len(set(chunks)) // 500)][:500]
    theirs = SentenceTransformer(str(bundled_model_folder()), device="cpu")
    ways: dict[str, Callable[[], object]] = {
        "sentence-transformers float32": lambda: theirs.encode(texts, batch_size=32),
        "ours float32": _embedding(texts, "float32"),
        "ours bfloat16": _embedding(texts, "bfloat16"),
    }
    turns = [{name: _wall_and_cpu(way) for name, way in ways.items()} for _ in range(rounds + 1)]
    print(f"{len(texts)} texts embedded on {_processor()}; medians of {rounds} rounds\n")
    print("| way | seconds | CPU seconds | ratio | ratio of CPU |\n| --- | --- | --- | --- | --- |")
    base: tuple[float, float] | None = None
    for name in ways:
        measured = [turn[name] for turn in turns[1:]]
        wall, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
        base = base or (wall, cpu)
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {wall / base[0]:.2f} | {cpu / base[1]:.2f} |")
    print()


def _embedding(texts: Sequence[str], precision: str) -> Callable[[], object]:
    embedder = Components(Settings.model_validate({"embedder": {"precision": precision}})).embedder
    return lambda: embedder.embed(texts)


def _wall_and_cpu(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _processor() -> str:
    """The processor's name, where the system tells it, and its flags for matrix products."""
    path = Path("/proc/cpuinfo")
    words = path.read_text(encoding="utf-8").split() if path.exists() else []
    flags = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_int8")
    has = ", ".join(flag for flag in flags if flag in words) or "no known flags"
    return f"{platform.machine()} with {has}, {os.cpu_count()} cores"


def _print_stages(rows: Sequence[dict[str, float]]) -> None:
    first = rows[0]
    print(f"{first['n_leaves']:.0f} leaves, {first['n_texts']:.0f} texts, ", end="")
    print(f"{first['n_layers']:.0f} layers; medians of {len(rows)} warm rounds\n")
    print("| stage | seconds |\n| --- | --- |")
    for stage in ("chunks", "embeddings", "clusters", "summaries", "build", "floor"):
        print(f"| {stage} | {statistics.median(row[stage] for row in rows):.2f} |")


def _print_ratio(rows: Sequence[dict[str, float]]) -> None:
    ratios = sorted(row["build"] / row["floor"] for row in rows)
    print(f"\nwarm build / floor: median {statistics.median(ratios):.2f}", end="")
    print(f" (from {ratios[0]:.2f} to {ratios[-1]:.2f})\n")


def _cold(arguments: argparse.Namespace) -> None:
    command = [sys.executable, __file__, arguments.source, "--tokens", str(arguments.tokens)]
    for name in ("first process", "second process"):
        started = time.perf_counter()
        run = subprocess.run([*command, "--child"], check=True, capture_output=True, text=True)
        whole = time.perf_counter() - started
        print(f"cold, {name}: {whole:.1f} s, of which build {run.stdout.strip()} s")
    print()


def _child(arguments: argparse.Namespace) -> None:
    documents = sample(arguments.source, arguments.tokens)
    _, seconds = timed_build(documents, Components(Settings()))
    print(f"{seconds['build']:.1f}")


def _dagster(documents: Sequence[Document], rounds: int) -> None:
    """One partition in one run, the process and the home already up, without the embedder's time.

    The embedder's seconds, which are the same work in both and vary most, are taken off both.
    """
    runs, plains = zip(*[_beside(documents) for _ in range(rounds + 1)][1:], strict=True)
    run, plain = statistics.median(runs), statistics.median(plains)
    print("without the embedder's time: ", end="")
    print(f"through Dagster {run:.2f} s, plain call {plain:.2f} s, {run - plain:+.2f} s")


def _beside(documents: Sequence[Document]) -> tuple[float, float]:
    from raptor_assets.home.folder import Home
    from raptor_assets.local.build import build

    with tempfile.TemporaryDirectory() as folder, _timed_embedder() as embedding:
        source = Path(folder) / "source"
        source.mkdir()
        (source / "before.txt").write_text("The home and its records exist.", encoding="utf-8")
        home = Home.at(Path(folder) / "home")
        home.create(sources=[str(source)])
        build(home, home.load_settings(), components=_TOOLS)
        text = "\n\n".join(document.text for document in documents)
        one = [Document("one.txt", text)]
        plain = _own_seconds(lambda: build_tree(one, components=_TOOLS), embedding)
        (source / "one.txt").write_text(text, encoding="utf-8")
        run = _own_seconds(lambda: build(home, home.load_settings(), components=_TOOLS), embedding)
    return run, plain


def _own_seconds(work: Callable[[], object], embedding: list[float]) -> float:
    embedding.clear()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started - sum(embedding)


@contextmanager
def _timed_embedder() -> Iterator[list[float]]:
    """The seconds of each call of the shared embedder, while it is open."""
    seconds: list[float] = []
    embedder: Any = _TOOLS.embedder
    embed = embedder.embed

    def timed(texts: Sequence[str]) -> Any:
        started = time.perf_counter()
        vectors = embed(texts)
        seconds.append(time.perf_counter() - started)
        return vectors

    embedder.embed = timed
    try:
        yield seconds
    finally:
        del embedder.embed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", nargs="?", default="examples/handbook")
    parser.add_argument("--tokens", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true", help="also time two fresh processes")
    parser.add_argument("--dagster", action="store_true", help="also time a Dagster run")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
