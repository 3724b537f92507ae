"""One run at a time works in a home; a killed one holds nobody up."""

import os
import socket
import threading

import dagster as dg
import filelock
import pytest
from support.workshop import Workshop, prose

from raptor_assets.chain.runs import PROCESS_TAG, fail_dead_runs

pytestmark = pytest.mark.slow


@pytest.fixture
def workshop(tmp_path):
    made = Workshop(tmp_path, tree={"max_layers": 1})
    made.write("a.md", prose(12))
    return made


def test_a_build_and_a_drop_wait_for_another_run(workshop):
    workshop.home.ensure()
    told = []
    for act in (lambda: told.append(workshop.build("a.md")), lambda: workshop.drop("a.md")):
        before = set(workshop.manifests()) if told else set()
        with filelock.FileLock(workshop.home.path / "run.lock", thread_local=False):
            thread = threading.Thread(target=act)
            thread.start()
            thread.join(3)
            assert thread.is_alive()
            assert (set(workshop.manifests()) if told else set()) == before
        thread.join()
        assert set(workshop.manifests()) != before
    assert told[0].built == ["a.md"]


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
def test_a_run_whose_process_has_ended_has_failed(workshop, process, is_dead):
    workshop.build()
    with workshop.instance() as instance:
        job = workshop.definitions().resolve_job_def("sync")
        run = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
        named = process.format(run=run.run_id, host=socket.gethostname(), own=os.getpid())
        instance.add_run_tags(run.run_id, {PROCESS_TAG: named} if named else {"a": "b"})
        assert fail_dead_runs(instance) == ([run.run_id] if is_dead else [])
        status = instance.get_run_by_id(run.run_id).status
    assert status == dg.DagsterRunStatus["FAILURE" if is_dead else "STARTED"]
