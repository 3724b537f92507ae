"""Alerts: one message for each look, each problem once, and the functions of the page load."""

import dagster as dg
import pytest
from support.fenced import fenced
from support.team import QUICK
from support.workshop import prose

from raptor_assets import build_raptor_corpus, failed_checks, failure_reason

pytestmark = pytest.mark.slow

STRICT = {"max_children": 2.5, "min_children": 0}


class Watched:
    """A corpus whose alerts are kept, and an instance."""

    def __init__(self, root):
        self.root, self.sent = root, []
        self.docs = root / "docs"
        self.docs.mkdir()
        self.instance = dg.DagsterInstance.ephemeral(str(root / "instance"))
        self.cursor = None
        self.configure()

    def configure(self, **parts):
        parts = {**QUICK, "source": {"paths": [str(self.docs)]}, **parts}
        self.definitions = build_raptor_corpus(
            "wiki", home=self.root / "kept", alert=self.sent.append, **parts
        )

    def write(self, name, seed, n_sentences=24):
        (self.docs / name).write_text(prose(n_sentences, seed=seed))

    def sync(self):
        job = self.definitions.resolve_job_def("wiki_sync")
        return job.execute_in_process(instance=self.instance, raise_on_error=False)

    def tick(self):
        """What a tick sends: subject and lines, or nothing."""
        sensor = self.definitions.resolve_sensor_def("wiki_alerts")
        found = sensor(dg.build_sensor_context(self.instance, cursor=self.cursor))
        self.cursor = found.cursor
        messages, self.sent[:] = list(self.sent), []
        return [(message.subject, message.text.splitlines()) for message in messages]


@pytest.fixture
def watched(tmp_path):
    return Watched(tmp_path)


def test_each_problem_is_reported_once_and_once_more_when_it_is_over(watched):
    watched.configure(checks=STRICT)
    watched.write("a.md", 1)
    watched.write("b.md", 2)
    assert watched.sync().success
    ((subject, lines),) = watched.tick()
    assert subject.startswith("wiki: ")
    (line,) = [line for line in lines if "cluster_size" in line]
    assert line.startswith("warn: cluster_size of layer_1/clusters: a.md, b.md: Clusters have")
    assert watched.tick() == []
    watched.sync()
    assert watched.tick() == []
    watched.configure()
    watched.write("a.md", 3)
    watched.write("b.md", 4)
    assert watched.sync().success
    ((_, lines),) = watched.tick()
    assert "recovered: warn: cluster_size of layer_1/clusters: a.md, b.md" in lines


def test_unpublished_partitions_and_unbuilt_sources_are_reported(watched):
    watched.configure(checks={**STRICT, "severity": {"cluster_size": "error"}})
    watched.write("a.md", 1)
    assert not watched.sync().success
    ((_, lines),) = watched.tick()
    (line,) = [line for line in lines if line.startswith("a build published nothing")]
    assert line.startswith("a build published nothing: a.md: failed at layer_1/clusters: check")
    watched.configure(checks={"severity": {"cluster_size": "off"}})
    assert watched.sync().success
    watched.tick()
    watched.write("c.md", 3)
    assert watched.tick() == []  # a build may be about to begin
    ((subject, lines),) = watched.tick()
    assert (subject, lines) == (
        "wiki: 1 new problem",
        ["the source has changed since the last build: c.md"],
    )
    assert watched.sync().success
    ((_, lines),) = watched.tick()
    assert "recovered: the source has changed since the last build: c.md" in lines


def test_a_run_status_sensor_gets_the_failed_checks_of_its_run(watched):
    watched.configure(checks=STRICT)
    watched.write("a.md", 1)
    ran = watched.sync()
    event = next(e for e in ran.all_events if e.event_type_value == "PIPELINE_SUCCESS")
    run = watched.instance.get_run_by_id(ran.run_id)
    context = dg.build_run_status_sensor_context("watch", event, watched.instance, run)
    (found,) = [check for check in failed_checks(context) if check.name == "cluster_size"]
    assert (found.asset, found.partition, found.severity) == (
        "wiki/layer_1/clusters",
        "a.md",
        "warn",
    )


def test_a_run_failure_sensor_gets_the_whole_reason_of_a_failure(watched):
    watched.configure(checks={**STRICT, "severity": {"cluster_size": "error"}})
    watched.write("a.md", 1)
    watched.write("b.md", 2)
    ran = watched.sync()
    run, event = watched.instance.get_run_by_id(ran.run_id), ran.get_run_failure_event()
    context = dg.build_run_status_sensor_context("watch", event, watched.instance, run)
    reason = failure_reason(context.for_run_failure())
    assert "2 of 2 partitions failed" in reason
    assert "a.md, b.md, at layer_1/clusters: check cluster_size" in reason


def test_the_functions_of_the_page_belong_to_a_sensor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for code in fenced("docs/alerts.md"):
        page: dict = {"__name__": "page"}
        exec(compile(code, "docs/alerts.md", "exec"), page)
        assert page["defs"].resolve_sensor_def("handbook_alerts")
