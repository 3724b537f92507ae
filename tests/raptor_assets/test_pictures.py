"""Pictures and tables for metadata: small, the same every time, and safe to show."""

import base64
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from raptor_assets.cost_metadata import KEPT_BUILDS, cost_history, cost_metadata
from raptor_assets.drawing import Drawing, svg_markdown, ticks
from raptor_assets.plots import cost_svg, distribution_svg, layers_picture, layers_svg, map_svg
from raptor_assets.tables_markdown import markdown_table
from raptor_core.clustering.projection import project
from raptor_core.models.money.usage import Usage

SIZES = [2, 4, 5, 6, 6, 7, 8, 11]
RATIOS = [0.2, 0.25, 0.28, 0.3, 0.31, 0.33, 0.4, 0.5]
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """What stands in a picture, in order."""
    return [element.text for element in ET.fromstring(svg).iter(f"{SVG}text")]


def rects(svg, color=None):
    found = ET.fromstring(svg).iter(f"{SVG}rect")
    return [element for element in found if color in (None, element.get("fill"))]


def is_inside(svg):
    """Whether every text and bar begins within the picture."""
    picture = ET.fromstring(svg)
    width, height = float(picture.get("width")), float(picture.get("height"))
    placed = [e for e in picture.iter() if e.tag in (f"{SVG}text", f"{SVG}rect")]
    return all(0 <= float(e.get("x")) <= width and 0 <= float(e.get("y")) <= height for e in placed)


def test_a_distribution_shows_every_value_and_both_means():
    picture = distribution_svg(SIZES, RATIOS)
    assert len(rects(picture)) >= len(set(SIZES))
    assert {"paper 6.7", "paper 0.28", "mean 6.12", "mean 0.321"} <= set(texts(picture))
    assert is_inside(picture)
    assert len(picture) < 8_000
    assert distribution_svg(SIZES, RATIOS) == picture
    assert distribution_svg([*SIZES, 30], RATIOS) != picture


@pytest.mark.parametrize("values", [[], [3], [4, 4, 4], list(range(400))])
def test_any_number_of_values_is_a_picture(values):
    picture = distribution_svg(values, [value / 7 for value in values])
    assert is_inside(picture)
    assert ("no data" in texts(picture)) == (not values)


def test_a_picture_stands_in_markdown():
    picture = layers_svg([5, 1], [100, 20])
    text = svg_markdown(picture, "sizes [of] all")
    assert text.startswith("![sizes (of) all](data:image/svg+xml;base64,")
    assert base64.b64decode(text.split(",", 1)[1].rstrip(")")).decode() == picture


def test_a_text_brings_no_markup_into_a_picture():
    drawing = Drawing(40, 20)
    drawing.text(1, 10, "<script>a & b</script>", "#fff")
    assert texts(drawing.svg()) == ["<script>a & b</script>"]


def test_cells_cannot_break_the_table_or_bring_markup():
    text = markdown_table(("tree", "text"), [("a|b", "<script>alert(1)</script>\nnext | line")])
    assert len(text.strip().splitlines()) == 3
    assert "<script>" not in text
    assert text.strip().splitlines()[2].replace("\\|", "").count("|") == 3


def test_a_map_has_a_dot_for_every_node_in_the_colour_of_its_cluster():
    rng = np.random.default_rng(3)
    points, cluster_of = rng.normal(size=(40, 2)), np.arange(40) % 12
    picture = map_svg(points, cluster_of)
    paths = [e.get("d") for e in ET.fromstring(picture).iter(f"{SVG}path")]
    assert sum(path.count("h0") for path in paths) == 40
    assert sum("h0" in path for path in paths) == 10
    assert texts(picture)[0] == "40 nodes in 12 clusters"
    assert map_svg(points, cluster_of) == picture
    assert map_svg(points, cluster_of[::-1]) != picture
    assert len(map_svg(rng.normal(size=(9000, 2)), np.arange(9000) % 40)) < 30_000
    assert "nan" not in map_svg(np.zeros((3, 2)), np.zeros(3, dtype=np.int64))


def test_layers_tell_their_numbers():
    picture = layers_svg([5000, 1], [100_000, 20])
    assert {"layer 0", "layer 1", "5,000", "1", "100,000", "20"} <= set(texts(picture))
    assert is_inside(picture)
    assert layers_svg([5, 1], [100, 20]) != layers_svg([5, 2], [100, 20])


def test_one_layer_is_told_by_its_numbers_alone():
    assert layers_picture({0: 7}, {0: 90}) == {}
    assert set(layers_picture({0: 7, 1: 1}, {0: 90, 1: 20})) == {"layers"}


def test_costs_are_stacked_by_layer_and_the_last_build_is_told_in_full():
    builds = [{"layer 1": 0.02, "layer 2": 0.01}, {"layer 1": 0.0004}]
    picture = cost_svg(builds, "USD")
    told = texts(picture)
    assert {"USD of this build", "layer 1", "layer 2", "0.0004", "0.03"} <= set(told)
    assert is_inside(picture)
    assert is_inside(cost_svg([{"layer 1": 7.0}] * KEPT_BUILDS, "Tokens"))


def test_only_builds_that_paid_are_remembered_and_the_last_of_them():
    free = {1: Usage()}
    paid = {1: Usage(calls=3, prompt_tokens=95, completion_tokens=10, usd=0.75)}
    assert cost_history((), free) == ()
    assert cost_metadata(()) == {}
    (once,) = cost_history((), paid)
    assert once == {"tokens layer 1": 105.0, "usd layer 1": 0.75}
    assert cost_history([once], free) == [once]
    many = [{"tokens layer 1": float(at)} for at in range(KEPT_BUILDS)]
    assert cost_history(many, paid) == [*many[1:], once]


def test_a_build_without_a_price_is_pictured_in_tokens():
    (unpriced,) = cost_history((), {1: Usage(calls=2, prompt_tokens=90, usd=None)})
    assert unpriced == {"tokens layer 1": 90.0}
    priced = {"tokens layer 1": 50.0, "usd layer 1": 0.5}
    shown = cost_metadata([priced, unpriced])["cost"].value
    assert shown.startswith("![Tokens paid by layer and build](data:image/svg+xml;base64,")
    assert cost_metadata([priced])["cost"].value.startswith("![USD paid")


@pytest.mark.parametrize(
    ("low", "high", "at_most", "expected"),
    [
        (0, 22, 4, [0, 10, 20]),
        (0.14, 0.53, 7, [0.2, 0.3, 0.4, 0.5]),
        (0, 1.2, 4, [0, 0.5, 1]),
        (3, 3, 4, [3]),
    ],
)
def test_scales_have_round_numbers(low, high, at_most, expected):
    assert ticks(low, high, at_most) == expected


def test_a_scale_of_counts_has_whole_numbers():
    assert ticks(0, 1.2, 4, integer=True) == [0, 1]


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


@pytest.mark.parametrize(("n_groups", "n_dims"), [(30, 16), (5, 64)])
def test_the_plane_lies_along_the_largest_spread_of_the_centres(n_groups, n_dims):
    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(4 * n_groups, n_dims)).astype(np.float32)
    groups = np.arange(4 * n_groups).reshape(n_groups, 4).tolist()
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    centres = np.stack([centred[group].sum(axis=0) / 2 for group in groups])
    axes = np.linalg.svd(centres)[2][:2]
    expected = np.abs(centred @ axes.T)
    assert np.allclose(np.abs(project(vectors, groups)), expected, atol=1e-5)


@pytest.mark.parametrize(("n", "groups"), [(0, []), (1, [[0]]), (4, [[0, 1, 2, 3]])])
def test_few_vectors_have_a_place_on_the_plane_too(n, groups):
    vectors = np.eye(4, 8, dtype=np.float32)[:n]
    points = project(vectors, groups)
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
