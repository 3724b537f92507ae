"""Map and layers show a hundred thousand nodes, and the layout keeps clusters together."""

import numpy as np
import pytest
from support.report_cases import document_of, lighthouse, summary, tree_of

from raptor_core.report.layout import first_parents, lay_out
from raptor_core.report.values import Report


def many(n_leaves):
    """A tree of short texts with vectors in clusters; seven children to a summary."""
    document, below = document_of([f"Leaf {at}." for at in range(n_leaves)])
    nodes, layer = list(below), 0
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_leaves // 300 + 2, 32))
    rows = centres[np.arange(n_leaves) // 300] + rng.normal(scale=0.5, size=(n_leaves, 32))
    vectors = dict(zip([node.embedding_key for node in below], rows, strict=True))
    while len(below) > 7:
        layer += 1
        groups = [below[at : at + 7] for at in range(0, len(below), 7)]
        below = [summary(f"{layer}.{n}", f"Of {n}.", layer, of) for n, of in enumerate(groups)]
        for node, of in zip(below, groups, strict=True):
            vectors[node.embedding_key] = sum(vectors[child.embedding_key] for child in of)
        nodes += below
    units = {key: (row / np.linalg.norm(row)).astype(np.float32) for key, row in vectors.items()}
    return nodes, document, units


@pytest.mark.slow
@pytest.mark.rare
def test_a_hundred_thousand_nodes_are_drawn_zoomed_and_clicked(show):
    nodes, document, vectors = many(86_000)
    assert len(nodes) > 100_000
    report = Report("t", (tree_of(nodes, document),), points=lay_out(nodes, vectors))
    # The layout differs between processors: on a large screen four names have room on each.
    page = show(report, "#map", viewport={"width": 2000, "height": 1400})
    plane = page.locator(".plane[data-frames]")
    plane.wait_for()
    assert int(plane.get_attribute("data-labels")) > 3
    assert page.locator("*").count() < 500
    frames = int(plane.get_attribute("data-frames"))
    box = plane.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "n => Number(document.querySelector('.plane').dataset.frames) > n", arg=frames
    )
    page.locator(".legend button").first.click()
    page.locator(".atlas-node .spans blockquote").first.wait_for()
    page.goto(page.url.partition("#")[0] + "#layers")
    page.locator(".icicle[data-frames]").wait_for()


@pytest.mark.slow
def test_the_same_nodes_stand_in_the_same_places_and_near_their_parents():
    nodes, _, vectors = many(5_000)
    points = lay_out(nodes, vectors)
    assert points.tobytes() == lay_out(nodes, vectors).tobytes()
    assert (points.min(), points.max()) == (0.0, 1.0)
    parents = first_parents(nodes)
    leaves = np.array([node.is_leaf for node in nodes]) & (parents >= 0)
    gaps = np.linalg.norm(points[leaves] - points[parents[leaves]], axis=1)
    assert np.median(gaps) < 0.05


def test_a_node_without_a_vector_has_a_place():
    nodes = lighthouse().trees[0].nodes
    assert np.isfinite(lay_out(nodes, {})).all()
