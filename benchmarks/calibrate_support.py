"""Fit the weights of the support judge on labelled summaries, and print them.

    python benchmarks/calibrate_support.py FOLDER

FOLDER holds ``docs.jsonl`` and ``pairs.jsonl`` (see ``raptor eval audit --help``). Only the half
of the documents that ``LabelledClaim.calibrates`` names is read. Weights are of logistic regression
on the mean doubts of a claim's sentences, none above 0 (some not above ``MOST``), every data set
and label weighing the same; a bias for each data set takes up what differs between them and is
averaged in the end. The bound is that of best balanced accuracy over the data sets together.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from raptor_core.audit.base import sentence_texts
from raptor_core.audit.support import WEIGHTS, EvidenceSentences
from raptor_core.models.embedding import make_embedder
from raptor_core.models.embedding.base import Embedder
from raptor_core.settings import EmbedderSettings
from raptor_lab.labelled import Labelled, LabelledClaim, auc, best_bound, load_labelled

DOUBTS = tuple(WEIGHTS)
RIDGE = 0.05
MOST = {"numbers": -1.0, "names": -1.0, "relations": -1.0, "negations": -0.5}
"""What these lower the odds by at the least: the labelled sets hardly hold wrong ones, and a model
that invents writes them."""


def doubts_of(labelled: Labelled, pairs: list[LabelledClaim], embedder: Embedder) -> np.ndarray:
    """Mean doubts of each claim's sentences, shape (pairs, doubts)."""
    texts = {
        name: sentence_texts(labelled.documents[name]) for name in {pair.document for pair in pairs}
    }
    known = {name: EvidenceSentences(found, embedder.embed(found)) for name, found in texts.items()}
    claims = [sentence_texts(pair.claim) for pair in pairs]
    flat = sorted({sentence for found in claims for sentence in found})
    vectors = dict(zip(flat, embedder.embed(flat), strict=True))
    rows = []
    for pair, found in zip(pairs, claims, strict=True):
        weighed = [known[pair.document].weigh(s, vectors[s]).doubts for s in found]
        rows.append([np.mean([doubts[name] for doubts in weighed]) for name in DOUBTS])
    return np.array(rows)


def fit(doubts: np.ndarray, labels: np.ndarray, datasets: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias."""
    names = sorted(set(datasets))
    own = np.stack([datasets == name for name in names], axis=1).astype(float)
    weight = np.zeros(len(labels))
    for name in names:
        for label in (False, True):
            rows = (datasets == name) & (labels == label)
            weight[rows] = 1 / (2 * len(names) * rows.sum())
    n, scale = doubts.shape[1], doubts.std(axis=0) + 1e-9

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        odds = (doubts / scale) @ values[:n] + own @ values[n:]
        told = 1 / (1 + np.exp(-odds))
        error = weight * (told - labels)
        slack = 1e-12
        likelihood = labels * np.log(told + slack) + (~labels) * np.log(1 - told + slack)
        gradient = np.r_[(doubts / scale).T @ error + 2 * RIDGE * values[:n], own.T @ error]
        return -(weight * likelihood).sum() + RIDGE * (values[:n] ** 2).sum(), gradient

    most = [MOST.get(name, 0.0) * scale[at] for at, name in enumerate(DOUBTS)]
    bounds = [(None, bound) for bound in most] + [(None, None)] * len(names)
    found = minimize(loss, np.zeros(n + len(names)), jac=True, bounds=bounds, method="L-BFGS-B").x
    return found[:n] / scale, float(found[n:].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    labelled = load_labelled(folder)
    pairs = [pair for pair in labelled.pairs if pair.calibrates]
    doubts = doubts_of(labelled, pairs, make_embedder(EmbedderSettings()))
    labels = np.array([pair.label for pair in pairs])
    datasets = np.array([pair.dataset for pair in pairs])
    weights, bias = fit(doubts, labels, datasets)
    told = 1 / (1 + np.exp(-(doubts @ weights + bias)))
    out = [f"pairs {len(pairs)}, documents {len({pair.document for pair in pairs})}"]
    out += [f"  {name:<12}{value:8.3f}" for name, value in zip(DOUBTS, weights, strict=True)]
    out += [f"  {'bias':<12}{bias:8.3f}", f"  {'bound':<12}{best_bound(labels, told):8.3f}"]
    for name in sorted(set(datasets)):
        rows = datasets == name
        single = [f"{auc(labels[rows], -doubts[rows, at]):.3f}" for at in range(len(DOUBTS))]
        all_of_them = auc(labels[rows], told[rows])
        out.append(f"{name}: AUC {all_of_them:.3f} on this half; of each doubt {' '.join(single)}")
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
