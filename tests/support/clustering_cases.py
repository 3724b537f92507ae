"""Layers to cluster, and the laws that any clustering of them must keep."""

import numpy as np


def unit(vectors):
    vectors = np.asarray(vectors, dtype=np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def topics(n_topics, rows_each, *, n_dims=32, spread=0.25, seed=0):
    """Unit vectors around random topics, topic by topic, and the topic of each."""
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_topics), rows_each)
    centers = unit(generator.normal(size=(n_topics, n_dims)))
    noise = generator.normal(size=(len(labels), n_dims)) * spread / np.sqrt(n_dims)
    return unit(centers[labels] + noise), labels


def tokens(n, each=80):
    return np.full(n, each, dtype=np.int64)


def assert_valid(clusters, n_tokens, max_tokens, min_members=2):
    n = len(n_tokens)
    if n < 2:
        assert clusters.members == ()
        return
    assert {row for rows in clusters.members for row in rows} == set(range(n))
    assert len(clusters.members) < n
    assert list(clusters.members) == sorted(set(clusters.members))
    for rows in clusters.members:
        assert list(rows) == sorted(set(rows))
        assert all(type(row) is int for row in rows)
        assert len(rows) >= min_members
        assert n_tokens[list(rows)].sum() <= max_tokens
    assert all(type(value) is float for value in clusters.details.values())
    given = getattr(clusters, "responsibilities", ())  # anchored ones have none
    likely = given or ((),) * len(clusters.members)
    for rows, of in zip(clusters.members, likely, strict=True):
        assert len(of) in (0, len(rows))
        assert all(0 <= value <= 1 for value in of)
