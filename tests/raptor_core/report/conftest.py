"""A browser, and a fixture that opens reports in it."""

import pytest
from support.browser import chromium

from raptor_core.report.page import render_report


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def show(browser, tmp_path):
    """Open a report; afterwards nothing may have been requested, blocked or thrown."""
    troubles = []
    contexts = []

    def opened(report, fragment="", before="", **options):
        path = tmp_path / "report.html"
        path.write_text(render_report(report), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(before)
        page.set_default_timeout(60_000)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: note(request.url, path.as_uri()))
        page.goto(path.as_uri() + fragment)
        return page

    def note(url, own):
        if url.partition("#")[0] != own and not url.startswith("data:"):
            troubles.append(url)

    opened.troubles = troubles
    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
