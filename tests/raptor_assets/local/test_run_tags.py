"""Tags of a run with its cost, after a cancellation and a re-execution."""

import contextlib
import os
import signal

import dagster as dg
import pytest
from support.openai_server import FakeOpenAI
from support.workshop import Workshop, prose

from raptor_assets.assets.names import BUILD

pytestmark = pytest.mark.slow
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


def test_a_cancelled_run_shows_what_its_answers_cost(tmp_path):
    with FakeOpenAI() as server:
        workshop = make_workshop(tmp_path, server)
        server.hold = lambda _body: (
            os.kill(os.getpid(), signal.SIGINT) if server.n_requests == 3 else None
        )
        run = run_of(workshop, NAMES, {})
    assert run.status != dg.DagsterRunStatus.SUCCESS
    assert int(run.tags[PAID].split()[0]) >= 2
