"""Laws that every clustering method keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.clusterers import clusterer_of
from support.clustering_cases import assert_valid, tokens, topics, unit
from support.examples import examples

from raptor_core.errors import ClusteringError

METHODS = ("raptor", "contiguous", "gmm")

by_method = pytest.mark.parametrize("method", METHODS)


def clustered(method, vectors, n_tokens, **changes):
    return clusterer_of(method, **changes).cluster(vectors, n_tokens)


def feasible(n_tokens, max_tokens):
    ordered = np.sort(n_tokens)
    return len(ordered) < 2 or ordered[-1] + ordered[0] <= max_tokens


@st.composite
def layers(draw):
    """Small layers with duplicates, opposite and zero vectors, and uneven tokens."""
    n = draw(st.integers(0, 40))
    coordinates = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0])
    distinct = draw(arrays(np.float32, (draw(st.integers(1, 12)), 5), elements=coordinates))
    picks = draw(arrays(np.int64, n, elements=st.integers(0, len(distinct) - 1)))
    n_tokens = draw(arrays(np.int64, n, elements=st.integers(1, 120)))
    return unit(distinct[picks]), n_tokens


@pytest.mark.slow
@by_method
@given(layer=layers(), max_tokens=st.integers(64, 900))
@examples(60)
def test_any_small_layer_is_clustered_lawfully_or_refused(method, layer, max_tokens):
    vectors, n_tokens = layer
    if feasible(n_tokens, max_tokens):
        clusters = clustered(method, vectors, n_tokens, max_tokens=max_tokens, dimensions=3)
        assert_valid(clusters, n_tokens, max_tokens)
    else:
        with pytest.raises(ClusteringError, match=r"raise clustering\.max_tokens"):
            clustered(method, vectors, n_tokens, max_tokens=max_tokens, dimensions=3)


@by_method
def test_components_of_a_mixture_have_responsibilities(method):
    vectors, _ = topics(6, 20, n_dims=16)
    clusters = clustered(method, vectors, tokens(120), threshold=0.1)
    fitted = [of for of in clusters.responsibilities if of]
    if method in ("raptor", "gmm"):
        assert len(fitted) > len(clusters.members) / 2
        assert np.mean([value for of in fitted for value in of]) > 0.5
    else:
        assert not fitted


@by_method
@pytest.mark.parametrize("n", [12, 13, 25, 60, 300])
def test_a_layer_shrinks_to_a_half_at_most(method, n):
    vectors = unit(np.random.default_rng(n).normal(size=(n, 24)))
    clusters = clustered(method, vectors, tokens(n))
    assert_valid(clusters, tokens(n), 3500)
    assert len(clusters.members) <= n // 2


@by_method
def test_vectors_that_are_not_finite_are_refused(method):
    vectors, _ = topics(2, 10)
    vectors[7, 2] = np.nan
    with pytest.raises(ClusteringError, match="row 7 contains NaN"):
        clustered(method, vectors, tokens(20))


@by_method
def test_tokens_must_be_one_number_per_row(method):
    vectors, _ = topics(2, 10)
    with pytest.raises(ClusteringError, match=r"expected n_tokens of shape \(20,\)"):
        clustered(method, vectors, tokens(19))


@by_method
def test_the_input_and_the_global_random_state_stay_as_they_were(method):
    vectors, _ = topics(3, 20)
    n_tokens = tokens(60)
    before, state = vectors.copy(), np.random.get_state()[1].copy()  # noqa: NPY002
    clustered(method, vectors, n_tokens)
    assert (vectors == before).all()
    assert (n_tokens == 80).all()
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


@by_method
def test_the_same_layer_gives_the_same_clusters(method):
    vectors, _ = topics(5, 20)
    first = clustered(method, vectors, tokens(100))
    np.random.seed(1)  # noqa: NPY002
    assert clustered(method, vectors, tokens(100)) == first


CHANGES = {
    "raptor": {"dimensions": 5, "local_neighbors": 5, "threshold": 0.2, "max_components": 9}
    | {"patience": 0, "epochs": 0, "max_tokens": 900, "seed": 1},
    "contiguous": {"max_tokens": 900},
    "gmm": {"threshold": 0.2, "max_tokens": 900, "seed": 1},
}


@by_method
def test_the_fingerprint_covers_exactly_what_the_method_reads(method):
    plain = clusterer_of(method).fingerprint
    every = {name: value for changes in CHANGES.values() for name, value in changes.items()}
    for name, value in every.items():
        changed = clusterer_of(method, **{name: value}).fingerprint
        assert (changed != plain) == (name in CHANGES[method]), name


@pytest.mark.parametrize("n", range(2, 12))
def test_a_layer_of_few_rows_is_one_cluster(n):
    vectors = unit(np.random.default_rng(n).normal(size=(n, 16)))
    assert clustered("raptor", vectors, tokens(n)).members == (tuple(range(n)),)


@by_method
def test_heavy_rows_share_the_one_light_row(method):
    vectors, _ = topics(2, 3)
    n_tokens = np.array([900, 900, 50, 900, 900, 900])
    clusters = clustered(method, vectors, n_tokens, max_tokens=1000)
    assert_valid(clusters, n_tokens, 1000)
    assert all(2 in rows for rows in clusters.members)
