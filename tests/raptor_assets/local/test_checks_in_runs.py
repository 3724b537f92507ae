"""Checks in real runs: what stops a publication, what only warns, and the golden set."""

import json
import re

import dagster as dg
import pytest
from support.command import embedder_made_by, raptor
from support.hashing import HashingEmbedder
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.local.status import read_status
from raptor_core.disk import file_lock
from raptor_core.models.summarizing.base import FailedSummary

pytestmark = pytest.mark.slow

ZEBRA = "The zebra crossed the viaduct at noon. " * 4


class FlatteningEmbedder(HashingEmbedder):
    """Answers every text alike once it is broken, as an endpoint behind a bad cache may."""

    is_broken = False

    def _encode(self, texts):
        vectors = super()._encode(texts)
        if self.is_broken:
            vectors[:] = 1.0
        return vectors


class RefusingSummarizer(ScriptedSummarizer):
    """Refuses every summary of one tree."""

    def __init__(self, tree):
        super().__init__()
        self.refused = f"of tree {tree!r}"

    def summarize(self, requests):
        refused = [request for request in requests if self.refused in request.name]
        for request in refused:
            yield FailedSummary(request.key, request.name, "the model refused in words")
        yield from super().summarize([r for r in requests if r not in refused])


def evaluations(workshop, asset, check, partition="a.md"):
    """All evaluations of a check on a partition, oldest first."""
    key = dg.AssetCheckKey(dg.AssetKey(asset.split("/")), check)
    with workshop.instance() as instance:
        history = instance.event_log_storage.get_asset_check_execution_history(key, limit=50)
    found = [record.evaluation for record in reversed(history)]
    return [e for e in found if isinstance(e, dg.AssetCheckEvaluation) and e.partition == partition]


def test_vectors_that_tell_no_texts_apart_are_not_published(tmp_path):
    workshop = Workshop(tmp_path)
    workshop.embedder = FlatteningEmbedder()
    workshop.configure()
    workshop.write("a.md", prose(24, seed=1))
    workshop.build()
    before, texts = workshop.manifests(), workshop.texts("a.md")
    workshop.embedder.is_broken = True
    workshop.write("a.md", prose(24, seed=2))
    report = workshop.build()
    assert report.failed["a.md"].asset == "layer_0/embeddings"
    assert "check embedding" in report.failed["a.md"].reason
    assert (workshop.manifests(), workshop.texts("a.md")) == (before, texts)
    passed, failed = evaluations(workshop, "layer_0/embeddings", "embedding")
    assert (passed.passed, failed.passed) == (True, False)
    assert failed.severity == dg.AssetCheckSeverity.ERROR
    assert failed.metadata["vectors_equal_share"].value > 0.1
    assert failed.metadata["remedy"].value
    assert "raptor tree a.md --trace " in failed.metadata["worst_nodes"].value


@pytest.fixture
def golden(tmp_path):
    """A home with a golden set of one question, which the document ``a.md`` answers."""
    checks = {"golden": "golden.jsonl", "min_golden_hit_rate": 1.0}
    workshop = Workshop(tmp_path, checks=checks, retrieval={"top_k": 1})
    workshop.write("a.md", ZEBRA + prose(6, seed=1))
    workshop.write("b.md", prose(12, seed=2))
    workshop.home.create_folders_and_instance()
    case = {"question": "Where did the zebra cross at noon, by the viaduct?", "expected": "a.md"}
    (workshop.home.settings_path.parent / "golden.jsonl").write_text(json.dumps(case))
    return workshop


def check_alone(workshop, assets, tags=None):
    """A run of the checks of some assets, as the UI starts it: no asset is made."""
    defs = workshop.definitions()
    job = defs.resolve_implicit_global_asset_job_def()
    chosen = {
        key for key in job.asset_layer.asset_graph.asset_check_keys if key.asset_key in assets
    }
    with workshop.instance() as instance:
        return job.get_subset(
            asset_selection=set(), asset_check_selection=chosen
        ).execute_in_process(instance=instance, tags=tags, raise_on_error=False)


@pytest.mark.rare
def test_checks_are_executed_by_themselves_for_chosen_partitions_and_for_all(tmp_path):
    workshop = Workshop(tmp_path, components={"summarizer": ScriptedSummarizer()})
    for number, name in enumerate(("a.md", "b.md")):
        workshop.write(name, prose(12, seed=number))
    workshop.build()
    junk = "layer_1/summaries/junk_text"
    asked = ["documents/document_text", junk, "tree/shrink", "tree/staleness"]

    def counts():
        found = {}
        for name in asked:
            asset, _, check = name.rpartition("/")
            found[name] = tuple(
                len(evaluations(workshop, asset, check, n)) for n in ("a.md", "b.md")
            )
        return found

    assert set(counts().values()) == {(1, 1)}
    assets = {dg.AssetKey(name.split("/")[:-1]) for name in asked}
    before = workshop.manifests()
    assert check_alone(workshop, assets).success
    assert set(counts().values()) == {(2, 2)}
    assert check_alone(workshop, assets, {"dagster/partition": "b.md"}).success
    assert set(counts().values()) == {(2, 3)}
    assert evaluations(workshop, "tree", "shrink", "b.md")[-1].passed
    assert workshop.manifests() == before
    for table in (workshop.home.tables / "layer_1" / "summaries").glob("*.parquet"):
        table.unlink()
    assert check_alone(workshop, {dg.AssetKey(["layer_1", "summaries"])}).success
    assert counts()[junk] == (2, 3)  # it cannot be executed


def test_a_failed_partition_says_why_on_its_pages_and_the_others_keep_their_checks(tmp_path):
    workshop = Workshop(tmp_path, components={"summarizer": RefusingSummarizer("b.md")})
    for number, name in enumerate(("a.md", "b.md")):
        workshop.write(name, prose(24, seed=number))
    report = workshop.build()
    assert list(report.failed) == ["b.md"]
    (found,) = evaluations(workshop, "layer_1/summaries", "junk_text", "a.md")
    assert found.passed
    assert not evaluations(workshop, "layer_1/summaries", "junk_text", "b.md")
    for asset in (dg.AssetKey(["layer_1", "summaries"]), dg.AssetKey("tree")):
        with workshop.instance() as instance:
            chosen = dg.AssetRecordsFilter(asset_key=asset, asset_partitions=["b.md"])
            (record,) = instance.fetch_observations(chosen, limit=10).records
        metadata = record.asset_observation.metadata
        assert metadata["failed_at"].value == "layer_1/summaries"
        assert "the model refused in words" in metadata["reason"].value
    status = read_status(workshop.home, workshop.settings)
    assert {tree.partition for tree in status.trees} == {"a.md"}
    assert all(check.passed for tree in status.trees for check in tree.checks)


@pytest.mark.parametrize(
    ("level", "published", "severity"), [("error", [], "ERROR"), ("warn", ["a.md"], "WARN")]
)
def test_a_team_says_which_checks_block(tmp_path, level, published, severity):
    checks = {"max_children": 2.5, "min_children": 0, "severity": {"cluster_size": level}}
    workshop = Workshop(tmp_path, checks=checks)
    workshop.write("a.md", prose(24, seed=1))
    report = workshop.build()
    assert list(workshop.manifests()) == published
    assert list(report.failed) == (["a.md"] if level == "error" else [])
    (found,) = [each for each in report.failed_checks if each.name == "cluster_size"]
    assert (found.asset, found.partition, found.severity) == ("layer_1/clusters", "a.md", level)
    (found,) = evaluations(workshop, "layer_1/clusters", "cluster_size")
    assert (found.passed, found.severity.name, found.blocking) == (
        False,
        severity,
        level == "error",
    )


def test_a_check_that_is_off_is_neither_defined_nor_executed(tmp_path):
    off = {"severity": {"cluster_size": "off", "embedding": "off", "staleness": "off"}}
    workshop = Workshop(tmp_path, checks={"max_children": 2.5, "min_children": 0, **off})
    workshop.embedder = FlatteningEmbedder()
    workshop.embedder.is_broken = True
    workshop.configure(checks={"max_children": 2.5, "min_children": 0, **off})
    workshop.write("a.md", prose(24, seed=1))
    report = workshop.build()
    assert report.succeeded
    assert not {each.name for each in report.failed_checks} & off["severity"].keys()
    assert evaluations(workshop, "layer_0/embeddings", "embedding") == []
    graph = workshop.definitions().resolve_asset_graph()
    assert not {key.name for key in graph.asset_check_keys} & off["severity"].keys()


def printed_status(workshop):
    """What `raptor status` prints of partitions that are not published."""
    with embedder_made_by(lambda *_: workshop.embedder):
        printed = raptor("status", "--home", workshop.home.path)
    assert printed.code == 0, printed
    return printed.out


def test_status_says_why_a_partition_is_not_published(tmp_path):
    refusing = {"max_children": 2.5, "min_children": 0, "severity": {"cluster_size": "error"}}
    workshop = Workshop(tmp_path, checks=refusing)
    workshop.home.create(sources=[str(workshop.docs)])
    for name in ("a.md", "b.md"):
        workshop.write(name, prose(24, seed=1))
    workshop.build()
    line = "not published: failed at layer_1/clusters: check cluster_size: Clusters have"
    assert f"a.md and 1 more: {line}" in printed_status(workshop)
    workshop.configure()
    workshop.build()
    assert not {"not published", "not updated"} & {
        *re.findall("not [a-z]+ed", printed_status(workshop))
    }
    workshop.configure(checks=refusing)
    workshop.write("a.md", prose(30, seed=2))
    workshop.build()
    assert "a.md: not updated: failed at layer_1/clusters" in printed_status(workshop)
    with workshop.instance() as instance:
        instance.add_dynamic_partitions("trees", ["c.md"])
    assert "c.md: not published: the build that started it was interrupted" in printed_status(
        workshop
    )
    with file_lock(workshop.home.run_lock):
        assert "a build is running" in (text := printed_status(workshop))
        assert "c.md: not published: the build that started it has not finished" in text
