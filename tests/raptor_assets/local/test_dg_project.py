"""A corpus in a project as ``create-dagster`` makes it: the first build, changes, failures."""

import json

import dagster as dg
import pytest
from jsonschema import Draft202012Validator
from support.dg_project import DgProject
from support.fenced import fenced

from raptor_assets import RaptorCorpusComponent, failure_reason

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rare,
    pytest.mark.filterwarnings("ignore:Parameter `owners` of initializer:dagster.BetaWarning"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = DgProject(tmp_path_factory.mktemp("dg"))
    made.add_documents("handbook", "a.md", "b.md", "c.md")
    made.add_corpus("handbook")
    done = made.dg(["launch", "--job", "handbook_sync"])
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def tick(project):
    with project.instance() as instance:
        sensor = project.load().resolve_sensor_def("handbook_source_sensor")
        return sensor(dg.build_sensor_context(instance))


def test_the_first_build_is_a_launch_of_the_sync_job(project):
    assert project.trees("handbook").keys() >= {"a.md", "b.md", "c.md"}
    status = json.loads(project.raptor("handbook", "status", "--json").stdout)
    assert all(tree["checks"] and tree["structural_checks_passed"] for tree in status["trees"])


def test_sync_builds_only_what_changed_and_drops_what_is_gone(project):
    before = project.trees("handbook")
    project.add_documents("handbook", "d.md")
    page = project.root / "handbook" / "b.md"
    page.write_text(page.read_text() + "\n\nThe lantern stands at the gate.\n")
    assert project.execute("handbook_sync").success
    assert project.trees("handbook") == {**before, "b.md": before["b.md"] + 1, "d.md": 1}
    (project.root / "handbook" / "d.md").unlink()
    result = project.execute("handbook_sync")
    assert result.success
    with project.instance() as instance:
        assert instance.get_dynamic_partitions("handbook_trees") == ["a.md", "b.md", "c.md"]
    after = project.trees("handbook")
    assert project.execute("handbook_sync").success
    assert project.trees("handbook") == after
    assert "up to date" in tick(project).skip_reason.skip_message


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"chunkking": {"max_tokens": 80}}, "'chunkking' was unexpected"),
        ({"chunking": {"max_tokens": "many"}}, "'many' is not valid"),
        ({"prices": {"small": {"inputs": 1}}}, "'inputs' was unexpected"),
        ({"source": {"tables": [{"uri": "sqlite://"}]}}, "'uri'"),
    ],
)
def test_the_schema_of_a_component_refuses_a_wrong_setting(settings, reason):
    (error,) = schema_errors(settings)
    assert reason in error


def test_the_schema_of_a_component_takes_templates_files_and_no_bound():
    template = "{{ env.TOKENS }}"
    assert not schema_errors({"chunking": {"max_tokens": template}, "budget": {"usd": "none"}})
    assert not schema_errors({"prices": {"small": {"input": template}}})
    assert not schema_errors("handbook.toml")


def schema_errors(settings):
    schema = RaptorCorpusComponent.get_model_cls().model_json_schema()
    values = {"name": "a", "settings": settings}
    return [error.message for error in Draft202012Validator(schema).iter_errors(values)]


def test_run_failure_sensors_get_the_whole_reason_of_a_failure(tmp_path):
    project = DgProject(tmp_path, "alerted")
    project.add_documents("handbook", *(f"{number}.md" for number in range(5)))
    for name in ("1.md", "3.md"):
        page = project.root / "handbook" / name
        page.write_text(page.read_text().replace(".", " zebra."))
    project.add_corpus("handbook", {"tree": {"max_layers": 1}})
    result = project.execute("handbook_sync")
    assert not result.success
    with project.instance() as instance:
        run, event = result.dagster_run, result.get_run_failure_event()
        sensor = dg.build_run_status_sensor_context("alert", event, instance, run)
        reason = failure_reason(sensor.for_run_failure())
    assert "2 of 5 partitions failed" in reason
    for name in ("1.md", "3.md"):
        assert f"{name}, at layer_1/summaries: " in reason
    assert "the endpoint refused it" in reason
    edges = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
    assert project.execute("handbook_build", tags=dict.fromkeys(edges, "0.md")).success


def test_the_component_of_the_page_is_listed_checked_and_scaffolded(tmp_path, monkeypatch):
    project = DgProject(tmp_path)
    (text,) = (block for block in fenced("docs/dagster.md", "yaml") if block.startswith("type:"))
    handbook = project.package / "defs" / "handbook"
    handbook.mkdir()
    (handbook / "defs.yaml").write_text(text)
    monkeypatch.setenv("SUMMARY_MODEL", "small")
    scaffold = ["scaffold", "defs", "raptor_assets.RaptorCorpusComponent", "guides"]
    done = project.dg(
        ["list", "components"],
        [*scaffold, "--name", "guides", "--path", "guides"],
        ["check", "yaml"],
        ["list", "defs"],  # which loads them all
    )
    assert done.returncode == 0, done.stderr
    components, _, listed = (done.stdout + done.stderr).partition("All component YAML validated")
    assert "raptor_assets.RaptorCorpusComponent" in components
    assert "handbook/tree" in listed
    assert "guides_source_sensor" in listed
    scaffolded = (project.package / "defs" / "guides" / "defs.yaml").read_text()
    assert "{{ context.project_root }}/guides" in scaffolded
    assert "{{ context.project_root }}/.raptor/guides" in scaffolded
    (handbook / "defs.yaml").write_text(text.replace("paths:", "path:"))
    failed = project.dg(["list", "defs"])
    assert failed.returncode
    assert "unknown setting source.path; did you mean paths" in failed.stdout + failed.stderr
