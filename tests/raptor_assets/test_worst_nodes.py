"""The table of worst nodes, and the commands that lead to one."""

import pytest

from raptor_assets.shown.markdown import code, worst_markdown
from raptor_core.checks.base import WorstNode


def test_a_node_of_a_tree_comes_with_the_commands_that_show_it():
    shown = worst_markdown([WorstNode("n-1", "A text.", 0.5, "odd", "guides/a b.md")])
    assert "| guides/a b.md | n\\-1 | 0.5 | odd | A text. |" in shown
    assert "`raptor tree 'guides/a b.md' --trace n-1`" in shown
    assert "`raptor report 'guides/a b.md' --node n-1`" in shown


@pytest.mark.parametrize("name", ["a`b.md", "``", "a|b", "<b>x</b>", "a\nb"])
def test_any_name_of_a_tree_stays_within_its_code_span(name):
    shown = code(f"raptor tree {name} --trace n")
    ticks = len(shown) - len(shown.lstrip("`"))
    assert "\n" not in shown
    assert shown.endswith("`" * ticks)
    assert "`" * ticks not in shown[ticks:-ticks]
