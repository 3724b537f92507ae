"""The table of worst nodes, and the commands that lead to one."""

import pytest
from pydantic import ValidationError

from raptor_assets.report_pages import node_link, page_url
from raptor_assets.tables_markdown import code, worst_markdown
from raptor_core.quality.checks import WorstNode
from raptor_core.settings import Settings


def test_a_node_of_a_tree_comes_with_the_commands_that_show_it():
    shown = worst_markdown([WorstNode("n-1", "A text.", 0.5, "odd", "guides/a b.md")])
    assert "| guides/a b.md | n\\-1 | 0.5 | odd | A text. |" in shown
    assert "`raptor tree 'guides/a b.md' --trace n-1`" in shown
    assert "`raptor report 'guides/a b.md' --node n-1`" in shown


def test_a_node_links_into_the_page_where_pages_are_served():
    settings = Settings.model_validate({"report": {"url": "https://team.example/raptor/"}})
    worst = [WorstNode("n-1", "A text.", 0.5, "odd", "guides/a b.md"), WorstNode("", "x", 1, "?")]
    shown = worst_markdown(worst, link=node_link(settings, "guides/a b.md"))
    page = "https://team.example/raptor/guides%252fa%20b.md.html"
    assert f"| guides/a b.md | [n\\-1]({page}#node=n-1) | 0.5 |" in shown
    assert shown.count("](") == 1
    assert page_url(settings, "guides/a b.md") == page


def test_without_an_address_or_a_partition_there_is_no_link():
    settings = Settings.model_validate({"report": {"url": "https://team.example"}})
    assert node_link(settings, None)("n-1") == "n-1"
    assert node_link(Settings(), "a.md")("n-1") == "n-1"
    assert page_url(Settings(), "a.md") is None


@pytest.mark.parametrize("url", ["file:///reports", "team.example", "https://a b", "https://a)b"])
def test_only_what_the_ui_lets_through_is_an_address(url):
    with pytest.raises(ValidationError, match="url"):
        Settings.model_validate({"report": {"url": url}})


def test_what_is_no_node_has_no_command():
    shown = worst_markdown([WorstNode("", "a.md", 1, "document changed", "t")])
    assert "raptor" not in shown
    assert worst_markdown([]) == ""


@pytest.mark.parametrize("name", ["a`b.md", "``", "a|b", "<b>x</b>", "a\nb"])
def test_any_name_of_a_tree_stays_within_its_code_span(name):
    shown = code(f"raptor tree {name} --trace n")
    ticks = len(shown) - len(shown.lstrip("`"))
    assert "\n" not in shown
    assert shown.endswith("`" * ticks)
    assert "`" * ticks not in shown[ticks:-ticks]
