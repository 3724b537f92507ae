"""What tests do with an open report."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def press(page: Page, *keys: str) -> None:
    """Press keys one after the other, wherever the focus is."""
    for key in keys:
        page.keyboard.press(key)


def focused(page: Page) -> Locator:
    """What has the focus."""
    return page.locator(":focus")


def items(page: Page) -> Locator:
    """Items of the tree that are in the page."""
    return page.locator("#tree [role=treeitem]")


def follow(link: Locator) -> None:
    """Click a link to another place of the page, and wait until that is shown."""
    link.page.evaluate(
        """() => {
            window.shown = new Promise((done) => {
                addEventListener("hashchange", () => setTimeout(done), { once: true });
            });
        }"""
    )
    link.click()
    link.page.evaluate("() => window.shown")


def refusal_of_script(page: Page) -> str:
    """Return what the browser says of a script that is put into the page, and does not run it."""
    with page.expect_console_message() as refused:
        page.evaluate(
            "() => { const made = document.createElement('script'); "
            "made.textContent = 'window.hacked = 3'; document.body.append(made); }"
        )
    assert "Content Security Policy" in refused.value.text
    assert page.evaluate("window.hacked") is None
    return refused.value.text
