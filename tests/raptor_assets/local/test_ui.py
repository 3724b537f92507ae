"""The Dagster UI of a home, as `raptor ui` opens it, in a real browser."""

import signal
import sys
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import dagster as dg
import pytest
from support.browser import chromium
from support.ports import free_port
from support.processes import process_of, wait_until
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose, settings_text

pytestmark = [pytest.mark.slow, pytest.mark.rare, pytest.mark.timeout(900)]

COMMAND = "from raptor_assets.cli import main; main()"
GROUPS = ("source", "layer_0", "layer_1", "published")
PATIENCE_MS = 60_000
SUMMARIES = dg.AssetKey(["layer_1", "summaries"])


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """Three partitions; the summaries of b.md are refused."""
    made = Workshop(
        tmp_path_factory.mktemp("ui"), {"summarizer": ScriptedSummarizer(failing="zebra")}
    )
    for seed, name in enumerate(("a.md", "b.md", "c.md")):
        animal = "zebra" if name == "b.md" else "dragon"
        made.write(name, prose(60, seed=seed).replace("castle", animal))
    parts = {"tree": {"max_layers": 2}}
    own = {
        "embedder": "support.hashing:HashingEmbedder",
        "judge": "support.word_judge:WordJudge",
    }
    made.home.ensure()
    made.home.settings.write_text(settings_text(made.docs, **parts, components=own))
    made.settings = made.home.load_settings()
    assert list(made.build().failed) == ["b.md"]
    return made


@pytest.fixture(scope="module")
def url(workshop):
    port = free_port()
    log = workshop.docs.parent / "ui.log"
    command = [sys.executable, "-c", COMMAND, "ui", "--port", str(port)]
    command += ["--home", str(workshop.home.path)]
    with process_of(command, workshop.docs.parent, log, {}, gently=signal.SIGINT) as process:
        found = f"http://127.0.0.1:{port}"

        def answers():
            try:
                return urlopen(f"{found}/server_info").status == 200
            except URLError:
                return False

        wait_until(answers, [log], needed=[process])
        yield found


@pytest.fixture
def page(url):
    with chromium() as browser:
        made = browser.new_page(viewport={"width": 2200, "height": 1100}, base_url=url)
        made.set_default_timeout(PATIENCE_MS)
        yield made


def seen(page, text):
    """What stands on the page to be seen; Dagster keeps hidden copies to measure widths."""
    return page.get_by_text(text, exact=True).locator("visible=true")


def test_the_expanded_lineage_reads_from_left_to_right(page):
    page.goto("/asset-groups?expanded=" + quote(",".join(f"global@global:{g}" for g in GROUPS)))
    seen(page, "tree").wait_for()
    layer = ("clusters", "summaries", "findings", "embeddings")
    names = ("documents", "chunks", *layer, "tree")
    places = []
    for name in names:
        for node in seen(page, name).all():
            places.append((node.bounding_box()["x"], name))
    expected = ["documents", "chunks", "embeddings", *layer, "tree"]
    assert [name for _, name in sorted(places)] == expected


def test_a_failed_partition_says_why_and_the_others_are_to_be_seen(page):
    page.goto("/assets/layer_1/summaries?view=partitions&partition=b.md&showAllEvents=true")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("b.md", exact=True).locator("visible=true").first.click()
    dialog.get_by_text("the endpoint refused it").first.wait_for()
    page.goto("/assets/layer_1/summaries?view=checks&checkDetail=compression_ratio")
    seen(page, "Automation history").wait_for()
    seen(page, "Partitions").last.click()
    seen(page, "Select a partition to view details").wait_for()
    seen(page, "c.md").last.click()
    page.get_by_text("tokens on average").first.wait_for()


def test_execute_all_on_the_tab_of_checks_checks_what_is_recorded(page, workshop):
    def latest(partition):
        key = dg.AssetCheckKey(SUMMARIES, "compression_ratio")
        with workshop.instance() as instance:
            found = instance.event_log_storage.get_asset_check_execution_history(key, limit=20)
        shown = [record.evaluation for record in found if record.evaluation]
        return [evaluation for evaluation in shown if evaluation.partition == partition]

    page.goto("/assets/layer_1/summaries?view=checks&checkDetail=compression_ratio")
    page.get_by_text("tokens on average").first.wait_for()
    page.get_by_text("Execute all").click()
    page.get_by_text("Launched run").wait_for()
    log = workshop.docs.parent / "ui.log"
    wait_until(lambda: len(latest("a.md")) == len(latest("c.md")) == 2, [log])
    with workshop.instance() as instance:
        wait_until(lambda: instance.get_runs(limit=1)[0].is_finished, [log])
        assert instance.get_runs(limit=1)[0].is_success
    assert latest("b.md") == []
    page.reload()
    page.get_by_text("tokens on average").first.wait_for()
