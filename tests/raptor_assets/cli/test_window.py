"""The page of `raptor serve` in a real browser: corpus, tree, map, layers, ask."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.axe import serious_faults
from support.browser import chromium
from support.openai_server import FakeOpenAI
from support.report_page import refusal_of_script
from support.serving import KEY, served_here, serving
from support.streams import StreamingModel

from raptor_assets.home.question_log import QuestionLog
from raptor_assets.local.curate import Curator
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_core import HomeRetriever
from raptor_core.settings import Settings

pytestmark = pytest.mark.slow

KEEPER = "who kept the lamp burning in the storm?"
LIGHTHOUSE = "farness/lighthouse.md"
SIZES = {"wide": {"width": 1600, "height": 900}, "narrow": {"width": 390, "height": 844}}
VIEWS = {
    "corpus": ("#corpus", ".tree-row"),
    "tree": (f"#tree={LIGHTHOUSE}", "main .top-texts"),
    "map": ("#map", ".plane[data-frames]"),
    "layers": (f"#layers=&tree={LIGHTHOUSE}", ".icicle[data-frames]"),
    "decisions": ("#decisions", "main .note"),
    "ask": ("#ask", "#ask-question"),
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address(built):
    answer = "Tom Ferris did, for nineteen hours [1]."
    with FakeOpenAI(answer=lambda _: answer) as reader, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAPTOR_READER__BASE_URL", reader.base_url)
        patch.setenv("OPENAI_API_KEY", "a-key")
        retriever = HomeRetriever(built.home)
        with served_here(make_app(retriever, ServerKeys(), curator=Curator(built.home))) as served:
            yield served


@pytest.fixture
def show(browser, address):
    """Open a view; afterwards nothing may have been blocked, thrown or asked of others."""
    troubles, contexts = [], []

    def opened(fragment="", at=None, **options):
        context = browser.new_context(**{"viewport": SIZES["wide"], **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: note(request.url, at or address))
        page.goto(f"{at or address}/{fragment}")
        return page

    def note(url, own):
        if not url.startswith((own, "data:", "blob:")):
            troubles.append(url)

    opened.troubles, opened.is_expected = troubles, lambda trouble: False
    yield opened
    for context in contexts:
        context.close()
    assert [trouble for trouble in troubles if not opened.is_expected(trouble)] == []


def test_the_corpus_is_listed_and_found_by_title_and_text(show):
    page = show()
    page.locator(".tree-row").nth(2).wait_for()
    rows = page.locator(".tree-title").all_inner_texts()
    assert rows[0] == "Crab soup\nsoup.md"
    figures = page.locator(".figures").first.inner_text()
    assert "3\ndocuments" in figures.replace("documents\n3", "3\ndocuments")
    first = page.locator(".tree-row").first.inner_text()
    assert "check" in first
    assert "first build" in first
    page.get_by_label("Search the corpus").fill("lighthouse clockwork")
    page.locator(".corpus-found mark.match", has_text="clockwork").first.wait_for()
    assert page.locator(".tree-row").count() == 0
    page.get_by_label("Search the corpus").fill("soup")
    page.locator(".tree-row").wait_for()
    page.locator(".tree-row").click()
    page.locator("main .top-texts").wait_for()
    assert page.locator("h1").inner_text() == "Crab soup"
    assert "soup.md" in page.locator("#facts").inner_text()
    page.locator("#tree [role=treeitem]").first.click()
    page.locator(".identity code").wait_for()
    node = page.locator(".identity code").inner_text()
    page.goto(f"{page.url.partition('#')[0]}#node={node}")
    page.locator(".identity code", has_text=node).wait_for()
    assert page.locator("h1").inner_text() == "Crab soup"
    assert refusal_of_script(page) == show.troubles.pop()


def test_an_answer_has_citations_and_two_strategies_light_up_tree_map_and_layers(show):
    page = show("#ask")
    page.get_by_label("Question").fill(KEEPER)
    page.get_by_role("button", name="Ask the model").click()
    cited = page.locator(".answer a").first
    cited.wait_for()
    assert "nineteen hours" in page.locator(".answer").inner_text()
    assert cited.inner_text().startswith("[1] The lighthouse at Skerry Point (farness/")
    assert cited.get_attribute("title").startswith("Node ")
    cited.click()
    assert page.locator("article:focus").count() == 1
    page.get_by_label("Compare with").select_option("flat")
    page.get_by_role("button", name="Search").click()
    page.locator(".columns h2").nth(1).wait_for()
    assert page.locator(".columns h2").all_inner_texts() == ["hybrid", "flat"]
    assert "Tom Ferris" in page.locator(".columns").inner_text()
    assert page.locator(".both").count() > 0
    page.get_by_role("link", name="in the map").click()
    page.get_by_text("Highlighted: “who kept").wait_for()
    page.get_by_role("link", name="Ask").click()
    page.get_by_role("link", name="in The lighthouse at Skerry Point").click()
    page.locator("#tree .rank").first.wait_for(state="attached")
    assert "Chosen by hybrid" in page.locator("main").inner_text()
    page.get_by_role("link", name="Ask").click()
    show.is_expected = lambda trouble: "404" in trouble  # one of each strategy, whenever it comes
    page.locator("#ask-trees").fill("nosuch")
    page.get_by_role("button", name="Search").click()
    page.locator("#message", has_text="no tree is published as 'nosuch'").wait_for()


def test_an_answer_appears_while_it_is_written(built, show, monkeypatch):
    with StreamingModel("Tom Ferris ", "did it ", "[1].", is_paced=True) as model:
        monkeypatch.setenv("RAPTOR_READER__BASE_URL", model.base_url)
        monkeypatch.setenv("RAPTOR_SOURCE__LINK", "https://wiki.example/{id}")
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        monkeypatch.setenv("RAPTOR_SERVING__QUESTIONS", "true")
        app = make_app(HomeRetriever(built.home), ServerKeys(), curator=Curator(built.home))
        with served_here(app) as served:
            page = show("#ask", at=served)
            page.get_by_label("Question").fill(KEEPER)
            page.get_by_role("button", name="Ask the model").click()
            page.locator(".answer", has_text="Tom Ferris").wait_for()
            assert page.locator(".answer").inner_text() == "Tom Ferris"
            model.next.release(3)
            page.locator(".answer li").first.wait_for()
            assert page.locator(".answer .prose").inner_text() == "Tom Ferris did it [1]."
            link = page.locator(".answer li").get_by_role("link", name="Open the original")
            assert link.get_attribute("href").startswith("https://wiki.example/")
            page.get_by_role("button", name="Bad answer").click()
            page.locator("#message", has_text="Thank you for your vote").wait_for()
            assert [
                asked.vote for asked in QuestionLog(built.home, Settings()).read_questions()
            ] == [-1]
    QuestionLog(built.home, Settings()).delete_questions()


@pytest.mark.rare
def test_people_decide_with_the_key_to_write_and_take_it_back(own, show):
    with serving(own.home, RAPTOR_API_KEY=KEY, RAPTOR_WRITING_KEY="to write") as keyed:
        page = show(f"#tree={LIGHTHOUSE}", at=keyed)
        give_key(page, KEY)
        page.locator("main .top-texts a").first.click()
        page.get_by_text("Correct this summary").click()
        assert serious_faults(page) == []
        page.get_by_label("Text of the summary").fill("The lamp burned from 1872.")
        page.get_by_role("button", name="Correct it").click()
        page.get_by_text("A decision needs the writing key.").wait_for()
        give_key(page, "to write")
        page.get_by_text("Recorded.").wait_for()
        assert apart(own.call, "build", "--json").json["failed"] == {}
        texts = {
            node["text"] for node in apart(own.call, "tree", LIGHTHOUSE, "--json").json["nodes"]
        }
        assert "The lamp burned from 1872." in texts
        page.get_by_role("link", name="Decisions").click()
        page.get_by_text("by writing key").wait_for()
        assert "The lamp burned from 1872." in page.locator("main").inner_text()
        page.locator("summary", has_text="Undo").click()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("undone by writing key").wait_for()
        (decision,) = apart(own.call, "curate", "list", "--all", "--json").json["decisions"]
        assert decision["undone"].startswith("by writing key")
    assert all("401" in message for message in show.troubles)
    show.troubles.clear()


def apart(call, *arguments):
    """The command in a thread of its own: the browser's has an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call, *arguments).result()


def give_key(page, key):
    page.locator("#key").fill(key)
    page.get_by_role("button", name="Continue").click()


@pytest.mark.rare
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_view_has_a_serious_fault_or_scrolls_sideways(show, scheme, size):
    page = show("#corpus", viewport=SIZES[size], color_scheme=scheme, reduced_motion="reduce")
    faults = {}
    for name, (fragment, sign) in VIEWS.items():
        page.goto(page.url.partition("#")[0] + fragment)
        page.locator(sign).first.wait_for(state="attached")
        if name == "ask":
            page.get_by_label("Question").fill(KEEPER)
            page.get_by_role("button", name="Search").click()
            page.locator("article").first.wait_for()
        found = serious_faults(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append("it scrolls sideways")
        if found:
            faults[name] = found
    assert faults == {}
