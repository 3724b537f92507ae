"""A browser shows large trees, both colour schemes and narrow screens."""

import pytest
from support.axe import serious_faults
from support.report_cases import large, lighthouse, node_id
from support.report_page import items, n_elements, press

pytestmark = [pytest.mark.slow, pytest.mark.rare]

FEW_ELEMENTS = 1500
"""Far fewer than a page with an element for each of 10,000 nodes would have."""


@pytest.mark.parametrize("flat", [False, True])
def test_ten_thousand_nodes_put_few_elements_into_the_page(show, flat):
    report = large(9990 if flat else 8600, flat=flat)
    nodes = report.trees[0].nodes
    page = show(report)
    assert n_elements(page) < FEW_ELEMENTS
    items(page).first.focus()
    press(page, *["ArrowRight", "ArrowDown"] * 4)
    assert n_elements(page) < FEW_ELEMENTS
    page.fill("#query", "river castle")
    page.locator("#search-status:not(:empty)").wait_for()
    assert page.locator("#results a").count() == 50
    assert n_elements(page) < FEW_ELEMENTS
    page.get_by_role("button", name="Show 50 of").click()
    assert page.locator("#results a").count() == 100
    page.fill("#query", "")
    page.locator("#tree").wait_for()
    last = [node for node in nodes if node.is_leaf][-1]
    page.goto(page.url.partition("#")[0] + f"#node={last.id}")
    assert page.locator(".document .span").inner_text() == last.text
    selected = page.locator("#tree [aria-selected=true]")
    assert "Entry" in selected.get_attribute("aria-label")
    assert n_elements(page) < FEW_ELEMENTS


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_either_scheme(show, scheme):
    page = show(lighthouse(), f"#node={node_id('s0')}", color_scheme=scheme)
    items(page).first.wait_for()
    page.locator("main").get_by_role("heading").first.wait_for()
    assert serious_faults(page) == []


def test_a_narrow_screen_shows_the_list_or_the_text_without_scrolling_sideways(show):
    page = show(lighthouse(), viewport={"width": 380, "height": 700})
    assert page.locator("#tree").is_visible()
    assert page.locator("main").is_hidden()
    items(page).first.locator(".snippet").first.click()
    page.locator("main").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    page.get_by_role("link", name="Back to the list").click()
    page.locator("#tree").wait_for()
    page.get_by_role("link", name="Overview").click()
    page.locator("table").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
