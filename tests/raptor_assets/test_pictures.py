"""Maps and tables in metadata: small, the same every time, and safe to show."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from raptor_assets.shown.cluster_map import draw_map_svg
from raptor_assets.shown.markdown import code_markdown, markdown_table, worst_nodes_markdown
from raptor_core.checks.base import WorstNode

SVG = "{http://www.w3.org/2000/svg}"


def test_cells_cannot_break_the_table_or_bring_markup():
    text = markdown_table(("tree", "text"), [("a|b", "<script>alert(1)</script>\nnext | line")])
    assert len(text.strip().splitlines()) == 3
    assert "<script>" not in text
    assert text.strip().splitlines()[2].replace("\\|", "").count("|") == 3


def test_a_map_has_a_dot_for_every_node_in_the_colour_of_its_cluster():
    rng = np.random.default_rng(3)
    points, cluster_of = rng.normal(size=(40, 2)), np.arange(40) % 12
    picture = draw_map_svg(points, cluster_of)
    paths = [e.get("d") for e in ET.fromstring(picture).iter(f"{SVG}path")]
    assert sum(path.count("h0") for path in paths) == 40
    assert sum("h0" in path for path in paths) == 10
    assert ET.fromstring(picture).find(f"{SVG}text").text == "40 nodes in 12 clusters"
    assert draw_map_svg(points, cluster_of) == picture
    assert draw_map_svg(points, cluster_of[::-1]) != picture
    assert len(draw_map_svg(rng.normal(size=(9000, 2)), np.arange(9000) % 40)) < 30_000
    assert "nan" not in draw_map_svg(np.zeros((3, 2)), np.zeros(3, dtype=np.int64))


def test_a_node_of_a_tree_comes_with_the_commands_that_show_it():
    shown = worst_nodes_markdown([WorstNode("n-1", "A text.", 0.5, "odd", "guides/a b.md")])
    assert "| guides/a b.md | n\\-1 | 0.5 | odd | A text. |" in shown
    assert "`raptor tree 'guides/a b.md' --trace n-1`" in shown
    assert "`raptor report 'guides/a b.md' --node n-1`" in shown


@pytest.mark.parametrize("name", ["a`b.md", "``", "a|b", "<b>x</b>", "a\nb"])
def test_any_name_of_a_tree_stays_within_its_code_span(name):
    shown = code_markdown(f"raptor tree {name} --trace n")
    ticks = len(shown) - len(shown.lstrip("`"))
    assert "\n" not in shown
    assert shown.endswith("`" * ticks)
    assert "`" * ticks not in shown[ticks:-ticks]
