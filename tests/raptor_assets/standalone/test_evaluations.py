"""Evaluations as assets: recorded beside the chain, by a job of their own, and guarded."""

import dagster as dg
import pytest
from support.evaluation_sets import LAMP, MILL, records, write_lines
from support.openai_server import FakeOpenAI
from support.workshop import Workshop, prose

from raptor_assets import keys
from raptor_assets.names import BUILD, EVALUATE
from raptor_assets.process import PROCESS_TAG
from raptor_assets.standalone.status import CheckResult, read_status

pytestmark = pytest.mark.slow

VILLAGE = keys.evaluation("village")


def workshop_of(root, rows, **evaluation):
    write_lines(root / "village.jsonl", rows)
    given = {"datasets": {"village": "../village.jsonl"}, "budgets_tokens": [30, 900]}
    workshop = Workshop(root, evaluation=given | evaluation)
    workshop.write("mill.md", MILL)
    workshop.write("lamp.md", LAMP)
    return workshop


def evaluate(workshop):
    job = workshop.definitions().resolve_job_def(EVALUATE)
    with workshop.instance() as instance:
        return job.execute_in_process(instance=instance, raise_on_error=False)


def materialization(workshop):
    with workshop.instance() as instance:
        found = instance.get_latest_materialization_event(VILLAGE)
    return found.asset_materialization if found else None


@pytest.fixture(scope="module")
def village(tmp_path_factory):
    workshop = workshop_of(tmp_path_factory.mktemp("village"), records())
    assert evaluate(workshop).success
    return workshop


def test_every_mean_is_a_number_with_a_name_that_stays(village):
    found = {name: value.value for name, value in materialization(village).metadata.items()}
    ways = ("flat", "hybrid", "lexical", "collapsed")
    names = {f"evidence_recall/{way}/{budget}" for way in ways for budget in (30, 900)}
    assert names <= found.keys()
    assert found["evidence_recall/hybrid/900"] == 1
    assert (found["n_questions"], found["n_trees"]) == (3, 3)
    assert ": evidence recall\n" in found["comparison"]
    assert "| hybrid | 900 |" in found["comparison"]
    assert "1.000 [1.000, 1.000]" in found["comparison"]


def test_the_check_is_told_with_the_home_status(village):
    (told,) = read_status(village.home, village.settings).checks
    assert told == CheckResult(
        asset="evaluation/village",
        name="default_strategy",
        passed=True,
        severity="warn",
        blocking=False,
        description=told.description,
    )
    assert told.description.startswith("evidence_recall of hybrid is ")


def test_the_trees_are_kept_and_nothing_is_published(village):
    n_embedded = village.embedder.n_embedded
    assert evaluate(village).success
    assert village.embedder.n_embedded == n_embedded + 3  # the questions
    assert village.manifests() == {}
    assert (village.home.path / "evaluation").is_dir()


def test_a_run_names_its_process_and_what_it_was_paid_for(tmp_path):
    workshop = workshop_of(tmp_path, records())
    given = workshop.settings.evaluation.model_dump()
    with FakeOpenAI() as server:
        summarizer = {"kind": "openai", "model": "writer", "base_url": server.base_url}
        workshop.configure(summarizer=summarizer, evaluation=given)
        result = evaluate(workshop)
    assert result.success
    with workshop.instance() as instance:
        tags = instance.get_run_by_id(result.run_id).tags
    assert PROCESS_TAG in tags
    assert " calls, " in tags["raptor/paid-summaries-writer"]


def test_no_build_and_no_sensor_launches_it(village):
    definitions = village.definitions()
    built = definitions.resolve_job_def(BUILD).asset_layer.executable_asset_keys
    assert VILLAGE not in built
    sensor = definitions.resolve_sensor_def("source_sensor")
    assert EVALUATE not in {job.name for job in sensor.jobs}
    node = definitions.resolve_asset_graph().get(VILLAGE)
    assert (node.group_name, node.partitions_def, node.parent_keys) == ("evaluation", None, set())
    assert node.automation_condition is None
    assert node.code_version


def test_a_value_far_under_earlier_ones_warns(tmp_path):
    workshop = workshop_of(tmp_path, records())
    check = dg.AssetCheckEvaluation(
        asset_key=VILLAGE,
        check_name="default_strategy",
        passed=True,
        metadata={"evidence_recall": 25.0},
    )
    with workshop.instance() as instance:
        for _ in range(5):
            instance.report_runless_asset_event(check)
    assert evaluate(workshop).success
    (told,) = read_status(workshop.home, workshop.settings).checks
    assert not told.passed
    assert "the median of 5 earlier evaluations is 25.000" in told.description


def test_questions_alone_are_asked_of_the_homes_source(tmp_path):
    rows = [{"question": "Who bought the wheel?", "span": "She sold the wheel to a smith."}]
    workshop = workshop_of(tmp_path, rows)
    workshop.write("other.md", prose(6))
    assert evaluate(workshop).success
    assert materialization(workshop).metadata["n_trees"].value == 3


def test_a_wrong_file_or_strategy_fails_the_run_and_is_told(tmp_path):
    workshop = workshop_of(tmp_path, [{"id": "a"}])
    (failure,) = [e for e in evaluate(workshop).all_events if e.event_type_value == "STEP_FAILURE"]
    assert "village.jsonl starts with an object of id" in str(failure.step_failure_data.error)
    workshop = workshop_of(tmp_path, records(), strategies=["nearest"])
    (failure,) = [e for e in evaluate(workshop).all_events if e.event_type_value == "STEP_FAILURE"]
    assert "no strategy is called 'nearest'" in str(failure.step_failure_data.error)


def test_without_data_sets_there_is_neither_asset_nor_job(tmp_path):
    definitions = Workshop(tmp_path).definitions()
    names = {job.name for job in definitions.resolve_all_job_defs()}
    assert EVALUATE not in names
    assert not [k for k in definitions.resolve_all_asset_keys() if k.path[0] == "evaluation"]
