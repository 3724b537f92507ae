"""A browser shows a report from a file, and mouse and keyboard operate it."""

import re

import pytest
from support.axe import serious_faults
from support.report_cases import HOSTILE, LEAVES, document_of, large, lighthouse, node_id, tree_of
from support.report_page import focused, follow, items, n_elements, press, refusal_of_script

from raptor_core.report.values import Report

pytestmark = pytest.mark.slow


def test_it_opens_with_name_sizes_layers_and_the_top(show):
    page = show(lighthouse())
    assert page.title() == "t · RAPTOR report"
    assert not page.locator("#too-old").is_visible()
    assert page.locator("h1").inner_text() == "t"
    facts = page.locator("header .facts").inner_text()
    assert "4 → 2 → 1 nodes" in facts
    assert "published 22 Nov 2026, 09:07 UTC" in facts
    assert "2 unsupported sentences" in facts
    overview = page.locator("main").inner_text()
    assert "A lamp was lit and kept." in overview
    assert "Mean in the paper" in overview
    assert "6.7" in overview
    assert "Not recorded." in overview
    assert page.locator("table tbody tr").count() == 4


def test_hostile_text_is_shown_and_never_runs_nor_does_a_script_of_others(show):
    page = show(lighthouse(), f"#node={node_id('d.md3')}")
    shown = page.locator(".document .span").evaluate("span => span.textContent")
    assert shown == HOSTILE
    page.fill("#query", "onerror")
    page.locator("#search-status:not(:empty)").wait_for()
    follow(page.locator("#results a").first)
    page.locator("#tab-findings").wait_for(state="hidden")
    press(page, "Tab")
    page.goto(page.url.partition("#")[0] + "#findings")
    assert HOSTILE[:20] in page.locator("body").evaluate("body => body.textContent")
    assert page.evaluate("window.hacked") is None
    assert page.locator("main b, main img, main i").count() == 0
    assert refusal_of_script(page) == show.troubles.pop()


@pytest.mark.rare
def test_a_browser_that_cannot_unpack_the_script_shows_a_message(show):
    page = show(lighthouse(), before="delete window.DecompressionStream")
    assert page.locator("#too-old").is_visible()
    assert page.locator("h1").inner_text() == ""


def test_the_tree_is_walked_by_keyboard_down_to_a_leaf(show):
    page = show(lighthouse())
    items(page).first.focus()
    assert items(page).count() == 3
    press(page, "ArrowDown", "ArrowRight")
    assert items(page).count() == 5
    assert focused(page).get_attribute("aria-expanded") == "true"
    assert focused(page).get_attribute("aria-level") == "2"
    press(page, "ArrowRight", "ArrowDown")
    leaf = focused(page)
    assert leaf.get_attribute("aria-posinset") == "2"
    assert leaf.get_attribute("aria-setsize") == "2"
    assert leaf.get_attribute("aria-expanded") is None
    press(page, "Enter")
    assert page.locator(".document .span").inner_text() == LEAVES[1]
    assert focused(page).get_attribute("aria-selected") == "true"
    press(page, "ArrowLeft", "ArrowLeft")
    assert items(page).count() == 3
    press(page, "End")
    assert focused(page).get_attribute("aria-label").startswith("Summary · layer 1")
    press(page, "Home")
    assert focused(page).get_attribute("aria-level") == "1"
    press(page, "ArrowLeft")
    assert items(page).count() == 1
    assert page.locator("#tree [tabindex='0']").count() == 1


@pytest.mark.rare
def test_a_leaf_stands_in_its_document_scrolled_into_view(show):
    document, leaves = document_of([f"Sentence {n} stands here. " * 6 for n in range(60)])
    page = show(Report("t", (tree_of(leaves, document),)), f"#node={leaves[40].id}")
    span = page.locator(".document .span")
    assert span.inner_text() == leaves[40].text
    box, inner = page.locator(".document").bounding_box(), span.bounding_box()
    assert box["y"] <= inner["y"]
    assert inner["y"] + inner["height"] <= box["y"] + box["height"]
    around = page.locator(".document .prose")
    assert leaves[39].text in around.evaluate("prose => prose.textContent")
    before = len(around.inner_text())
    page.get_by_role("button", name="Show earlier text").click()
    assert len(around.inner_text()) > before
    follow(page.get_by_role("link", name="Next chunk"))
    assert page.locator(".document .span").inner_text() == leaves[41].text


def test_search_finds_marks_announces_and_is_used_by_keyboard(show):
    page = show(lighthouse())
    page.locator("#query").focus()
    page.keyboard.type("LAMP lit")
    # The search goes on while it is typed: this mark is of the whole word.
    page.locator("mark.match", has_text=re.compile("^lit$", re.IGNORECASE)).first.wait_for()
    status = page.locator("#search-status")
    assert status.inner_text() == "3 nodes found"
    assert status.get_attribute("aria-live") == "polite"
    marks = {text.lower() for text in page.locator("#results mark.match").all_inner_texts()}
    assert marks == {"lamp", "lit"}
    press(page, "ArrowDown", "ArrowDown", "ArrowDown")
    assert "1872" in focused(page).inner_text()
    press(page, "Enter")
    page.locator(".document mark.match").first.wait_for()
    assert page.locator("#results [aria-current]").count() == 1
    page.locator("#query").focus()
    press(page, "Escape")
    assert page.locator("#tree").is_visible()
    page.fill("#query", "lamp unicorn")
    page.locator("#search-status", has_text="No node contains all 2 words; 4 contain 1").wait_for()
    page.fill("#query", "unicorn")
    page.get_by_text("Nothing found").wait_for()
    page.fill("#query", "(.*")
    page.get_by_text("Nothing found").wait_for()


@pytest.mark.rare
def test_every_node_has_an_address_and_breadcrumbs_keep_the_way(show):
    page = show(lighthouse(), f"#node={node_id('s1')}")
    assert page.locator("h2").inner_text() == "Summary · layer 1"
    follow(page.locator(".children a").first)
    crumbs = page.locator(".crumbs li")
    assert crumbs.count() == 4
    assert "Tom Ferris kept it" in crumbs.nth(2).inner_text()
    assert page.locator(".parents a").count() == 2
    follow(crumbs.nth(0).locator("a"))
    assert page.locator("h2").inner_text() == "Overview"


FEW_ELEMENTS = 1500
"""Far fewer than a page with an element for each of 10,000 nodes would have."""


@pytest.mark.rare
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


@pytest.mark.rare
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_either_scheme(show, scheme):
    page = show(lighthouse(), f"#node={node_id('s0')}", color_scheme=scheme)
    items(page).first.wait_for()
    page.locator("main").get_by_role("heading").first.wait_for()
    assert serious_faults(page) == []


@pytest.mark.rare
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
