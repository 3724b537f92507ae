"""Pictures and tables for metadata: small, the same every time, and safe to show."""

import base64

import numpy as np
import pytest

from raptor_assets.plots import distribution_png, layers_png, map_png, png_markdown
from raptor_assets.tables_markdown import markdown_table
from raptor_core.clustering.projection import project

SIZES = [2, 4, 5, 6, 6, 7, 8, 11]
RATIOS = [0.2, 0.25, 0.28, 0.3, 0.31, 0.33, 0.4, 0.5]


def test_a_picture_is_a_small_png_and_the_same_every_time():
    picture = distribution_png(SIZES, RATIOS)
    assert picture.startswith(b"\x89PNG\r\n")
    assert len(picture) < 30_000
    assert distribution_png(SIZES, RATIOS) == picture
    assert distribution_png([*SIZES, 30], RATIOS) != picture


def test_a_picture_stands_in_markdown():
    picture = distribution_png(SIZES, RATIOS)
    text = png_markdown(picture, "sizes")
    assert text.startswith("![sizes](data:image/png;base64,")
    assert base64.b64decode(text.split(",", 1)[1].rstrip(")")) == picture


def test_cells_cannot_break_the_table_or_bring_markup():
    text = markdown_table(("tree", "text"), [("a|b", "<script>alert(1)</script>\nnext | line")])
    assert len(text.strip().splitlines()) == 3
    assert "<script>" not in text
    assert text.strip().splitlines()[2].replace("\\|", "").count("|") == 3


def test_a_map_and_layers_are_pictures_too():
    rng = np.random.default_rng(3)
    points, cluster_of = rng.normal(size=(40, 2)), np.arange(40) % 12
    picture = map_png(points, cluster_of)
    assert picture.startswith(b"\x89PNG\r\n")
    assert map_png(points, cluster_of) == picture
    assert map_png(points, cluster_of[::-1]) != picture
    assert len(map_png(rng.normal(size=(9000, 2)), np.arange(9000) % 40)) < 60_000
    assert layers_png([5, 1], [100, 20]) != layers_png([5, 2], [100, 20])


def test_the_plane_keeps_clusters_apart_and_is_the_same_every_time():
    rng = np.random.default_rng(3)
    centres = np.linalg.qr(rng.normal(size=(64, 3)))[0].T
    rows = np.repeat(np.arange(3), 20)
    vectors = (centres[rows] + rng.normal(scale=0.05, size=(60, 64))).astype(np.float32)
    groups = [np.flatnonzero(rows == at).tolist() for at in range(3)]
    points = project(vectors, groups)
    means = np.stack([points[rows == at].mean(axis=0) for at in range(3)])
    nearest = np.linalg.norm(points[:, None] - means, axis=2).argmin(axis=1)
    assert (nearest == rows).all()
    assert np.array_equal(project(vectors, groups), points)


@pytest.mark.parametrize(("n", "groups"), [(0, []), (1, [[0]]), (4, [[0, 1, 2, 3]])])
def test_few_vectors_have_a_place_on_the_plane_too(n, groups):
    vectors = np.eye(4, 8, dtype=np.float32)[:n]
    points = project(vectors, groups)
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
