"""A browser shows a report from a file, and mouse and keyboard operate it."""

import re

import pytest
from support.axe import serious_faults
from support.report_cases import HOSTILE, LEAVES, lighthouse, node_id
from support.report_page import focused, follow, items, press, refusal_of_script

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
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_either_scheme(show, scheme):
    page = show(lighthouse(), f"#node={node_id('s0')}", color_scheme=scheme)
    items(page).first.wait_for()
    page.locator("main").get_by_role("heading").first.wait_for()
    assert serious_faults(page) == []
