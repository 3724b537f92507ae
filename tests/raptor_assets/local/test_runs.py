"""Runs: their partitions, one at a time in a home, and tags with what they cost."""

import contextlib
import os
import signal
import socket
import threading

import dagster as dg
import filelock
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.openai_server import FakeOpenAI
from support.workshop import Workshop, prose

from raptor_assets.assets.names import BUILD
from raptor_assets.chain.runs import PROCESS_TAG, fail_dead_runs, split_into_runs

PAID = "raptor/paid-summaries-small"
NAMES = ["a.md", "b.md"]


def make_workshop(root, server):
    writer = {"kind": "openai", "model": "small", "base_url": server.base_url, "concurrency": 1}
    workshop = Workshop(root, summarizer={**writer, "max_tokens": 60})
    for number, name in enumerate(NAMES):
        workshop.write(name, prose(16, seed=number))
    return workshop


def run_of(workshop, names, tags):
    """Execute the build job; return the last run, however it ended."""
    job = workshop.definitions().resolve_job_def(BUILD)
    config = {"ops": {"raptor": {"config": {"partitions": names}}}} if len(names) > 1 else {}
    if len(names) == 1:
        tags = {**tags, "dagster/partition": names[0]}
    with workshop.instance() as instance:
        instance.add_dynamic_partitions("trees", NAMES)
        with contextlib.suppress(KeyboardInterrupt, dg.DagsterExecutionInterruptedError):
            job.execute_in_process(
                instance=instance, run_config=config, tags=tags, raise_on_error=False
            )
        (run,) = instance.get_runs(limit=1)
    return run


@pytest.mark.slow
def test_a_cancelled_run_shows_what_its_answers_cost(tmp_path):
    with FakeOpenAI() as server:
        workshop = make_workshop(tmp_path, server)
        server.hold = lambda _body: (
            os.kill(os.getpid(), signal.SIGINT) if server.n_requests == 3 else None
        )
        run = run_of(workshop, NAMES, {})
    assert run.status != dg.DagsterRunStatus.SUCCESS
    assert int(run.tags[PAID].split()[0]) >= 2


@given(st.lists(st.text(max_size=3)), st.integers(1, 7))
def test_runs_hold_every_partition_in_its_order_and_are_as_few_as_can_be(partitions, longest):
    runs = split_into_runs(partitions, longest)
    assert [name for run in runs for name in run] == partitions
    assert all(0 < len(run) <= longest for run in runs)
    assert len(runs) == -(-len(partitions) // longest)


@pytest.fixture
def single(tmp_path):
    made = Workshop(tmp_path, tree={"max_layers": 1})
    made.write("a.md", prose(12))
    return made


@pytest.mark.rare
@pytest.mark.slow
def test_a_build_and_a_drop_wait_for_another_run(single):
    single.home.create_folders_and_instance()
    reports = []
    for act in (lambda: reports.append(single.build("a.md")), lambda: single.drop("a.md")):
        before = set(single.manifests()) if reports else set()
        with filelock.FileLock(single.home.path / "run.lock", thread_local=False):
            thread = threading.Thread(target=act)
            thread.start()
            thread.join(3)
            assert thread.is_alive()
            assert (set(single.manifests()) if reports else set()) == before
        thread.join()
        assert set(single.manifests()) != before
    assert reports[0].built == ["a.md"]


@pytest.mark.rare
@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "is_dead"),
    [
        ("{run}@{host}:99999999", True),
        ("{run}@{host}:{own}", False),
        ("{run}@elsewhere:99999999", False),
        ("another run@{host}:99999999", False),
        ("", False),
    ],
    ids=["ended", "living", "of another machine", "inherited by a retry", "without a process"],
)
def test_a_run_whose_process_has_ended_has_failed(single, process, is_dead):
    single.build()
    with single.instance() as instance:
        job = single.definitions().resolve_job_def("sync")
        run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        named = process.format(run=run.run_id, host=socket.gethostname(), own=os.getpid())
        instance.add_run_tags(run.run_id, {PROCESS_TAG: named} if named else {"a": "b"})
        assert fail_dead_runs(instance) == ([run.run_id] if is_dead else [])
        status = instance.get_run_by_id(run.run_id).status
    assert status == dg.DagsterRunStatus["FAILURE" if is_dead else "STARTED"]
