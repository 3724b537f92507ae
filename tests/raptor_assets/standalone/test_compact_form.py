"""A corpus of three assets, in a project as ``create-dagster`` makes it."""

import json

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster._cli.asset import asset_cli
from support.dg_project import CountedSummarizer, DgProject

pytestmark = pytest.mark.slow

COMPACT = {"runs": {"assets": "compact"}}
NAMES = ["a.md", "b.md", "c.md"]
KEYS = {dg.AssetKey(["handbook", name]) for name in ("documents", "tree", "tree_report")}


def make_project(folder, name, settings=COMPACT):
    project = DgProject(folder, name)
    project.add_documents("handbook", *NAMES)
    project.add_corpus("handbook", settings)
    return project


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    built = make_project(tmp_path_factory.mktemp("dg"), "compact")
    assert built.execute("handbook_sync").success
    return built


def plan(project):
    return json.loads(project.raptor("handbook", "plan", "--json").stdout)


def statuses(project):
    trees = json.loads(project.raptor("handbook", "status", "--json").stdout)["trees"]
    return {tree["tree"]: tree for tree in trees}


def materializations(project, run_id):
    events = dg.DagsterEventType.ASSET_MATERIALIZATION
    with project.instance() as instance:
        return [
            record.event_log_entry.dagster_event.event_specific_data.materialization
            for record in instance.get_records_for_run(run_id, of_type=events).records
        ]


def test_a_build_records_three_assets_and_every_check_of_the_layers(project):
    graph = project.load().resolve_asset_graph()
    assert graph.get_all_asset_keys() == KEYS
    checks = statuses(project)["a.md"]["checks"]
    recorded = {(check["asset"], check["name"]) for check in checks}
    keys = {(key.asset_key.path[-1], key.name) for key in graph.asset_check_keys}
    assert recorded == keys
    assert {"chunk_length", "coverage", "cluster_size", "embedding"} <= {n for _, n in recorded}
    assert plan(project)["n_unchanged"] == 3


def test_an_edit_materializes_three_assets_with_the_metadata_of_the_layers(project):
    page = project.root / "handbook" / "b.md"
    page.write_text(page.read_text() + "\n\nThe lantern stands at the gate.\n")
    assert plan(project)["changed"] == ["b.md"]
    done = project.execute("handbook_sync")
    events = materializations(project, done.run_id)
    assert {(event.asset_key, event.partition) for event in events} == {
        (key, "b.md") for key in KEYS
    }
    (tree,) = [event for event in events if event.asset_key.path[-1] == "tree"]
    n_summaries = tree.metadata["layer_1/summaries/n_nodes"].value
    assert n_summaries == tree.metadata["n_nodes_layer_1"].value == 3
    assert "/clusters | 3 |" in tree.metadata["layers"].value
    assert plan(project)["n_unchanged"] == 3


def test_a_failure_is_told_at_the_tree_and_in_its_checks(tmp_path):
    project = make_project(tmp_path, "failing")
    page = project.root / "handbook" / "b.md"
    page.write_text(page.read_text().replace(".", " zebra."))
    failed = project.execute("handbook_sync")
    assert not failed.success
    (event,) = failed.get_step_failure_events()
    assert "b.md, at layer_1/summaries" in event.step_failure_data.user_failure_data.description
    assert project.trees("handbook").keys() == {"a.md", "c.md"}
    with project.instance() as instance:
        key = dg.AssetCheckKey(dg.AssetKey(["handbook", "tree"]), "shrink")
        history = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    results = [record.evaluation for record in history if record.evaluation]
    (missed,) = [result for result in results if not result.passed]
    assert missed.partition == "b.md"
    assert missed.description.startswith("Not executed. The build of this partition failed")


def test_a_check_of_clusters_blocks_before_summaries_are_paid_for(tmp_path):
    checks = {"on_cluster_size": "block", "min_children": 20.0}
    project = make_project(tmp_path, "blocked", {**COMPACT, "checks": checks})
    n_answers = CountedSummarizer.n_answers
    assert not project.execute("handbook_sync").success
    assert CountedSummarizer.n_answers == n_answers
    assert not project.trees("handbook")


@pytest.mark.parametrize("wiped", [["tree"], ["documents"], ["tree_report"], ["documents", "tree"]])
def test_wiped_records_are_recorded_again_without_a_call(project, wiped):
    keys = [json.dumps(["handbook", asset]) for asset in wiped]
    environment = {"DAGSTER_HOME": str(project.instance_folder)}
    done = CliRunner().invoke(asset_cli, ["wipe", "--noprompt", *keys], env=environment)
    assert done.exit_code == 0, done.output
    planned = plan(project)
    assert planned["wiped"] == dict.fromkeys(NAMES, wiped)
    assert (planned["changed"], planned["summaries"]["calls"]) == (NAMES, 0)
    shown = project.raptor("handbook", "plan").stdout
    assert f"b.md: the records of {', '.join(wiped)} were wiped" in shown
    n_answers = CountedSummarizer.n_answers
    assert project.execute("handbook_sync").success
    assert CountedSummarizer.n_answers == n_answers
    assert plan(project)["n_unchanged"] == 3


def test_a_switched_form_costs_no_call(tmp_path):
    project = make_project(tmp_path, "switched", {})
    assert project.execute("handbook_sync").success
    before = project.trees("handbook")
    n_answers = CountedSummarizer.n_answers
    project.add_corpus("handbook", COMPACT)
    assert project.execute("handbook_sync").success
    assert project.trees("handbook") == before
    config = {"ops": {"handbook_sync_step": {"config": {"partitions": NAMES}}}}
    assert project.execute("handbook_sync", config).success
    checks = {check["name"] for check in statuses(project)["a.md"]["checks"]}
    assert {"chunk_length", "embedding"} <= checks
    project.add_corpus("handbook", {})
    assert project.execute("handbook_sync").success
    assert plan(project)["n_unchanged"] == 3
    assert CountedSummarizer.n_answers == n_answers


def test_chosen_checks_of_the_tree_are_executed_on_recorded_layers(project):
    key = dg.AssetCheckKey(dg.AssetKey(["handbook", "tree"]), "coverage")
    with project.instance() as instance:
        job = project.load().resolve_implicit_global_asset_job_def()
        done = job.get_subset(asset_check_selection={key}, asset_selection=set())
        result = done.execute_in_process(instance=instance)
    found = {(e.asset_check_key, e.partition) for e in result.get_asset_check_evaluations()}
    assert found == {(key, name) for name in NAMES}


READER = """
import dagster as dg
from raptor_assets import corpus_partitions


@dg.asset(
    partitions_def=corpus_partitions("handbook"),
    ins={
        "layer": dg.AssetIn(
            key=["handbook", "tree"],
            metadata={"table": "layer_1/embeddings"},
            input_manager_key="handbook_qdrant_layers_io_manager",
        )
    },
)
def columns(layer):
    return [len(layer), *layer.columns]
"""


def test_an_asset_downstream_reads_a_layer_by_the_name_of_its_table(project):
    reader = project.package / "defs" / "reader.py"
    reader.write_text(READER)
    job = project.load().resolve_implicit_global_asset_job_def()
    reader.unlink()
    with project.instance() as instance:
        chosen = job.get_subset(asset_selection={dg.AssetKey("columns")})
        result = chosen.execute_in_process(instance=instance, partition_key="a.md")
    n_nodes, *columns = result.output_for_node("columns")
    assert n_nodes == 2
    assert {"text", "children", "vector"} <= set(columns)


def test_the_corpus_tree_has_the_form_of_its_corpus(tmp_path):
    project = make_project(tmp_path, "twin", {**COMPACT, "corpus_tree": {"enabled": True}})
    above = {
        dg.AssetKey(["handbook", "corpus_tree", name])
        for name in ("source", "documents", "tree", "tree_report")
    }
    assert project.load().resolve_asset_graph().get_all_asset_keys() == KEYS | above
    assert project.execute("handbook_sync").success
    done = project.execute("handbook_corpus_tree_sync")
    assert {event.asset_key for event in materializations(project, done.run_id)} == {
        key for key in above if key.path[-1] != "source"
    }
    assert len(statuses(project)) == 4
    assert plan(project)["n_unchanged"] == 3
