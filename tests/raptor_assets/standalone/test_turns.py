"""Two runs of one partition never interleave, and a run whose process ended is known to be dead."""

import threading
from contextlib import ExitStack, contextmanager, nullcontext

import dagster as dg
import pytest
from support.pgbouncer import pgbouncer
from support.processes import wait_until
from support.servers import keep_records_in
from support.workshop import Workshop, prose

from raptor_assets import keys
from raptor_assets.process import PROCESS_TAG, TURN_TAG
from raptor_assets.project.runs import fail_dead_runs
from raptor_assets.project.turns import begin_turn, living_runs
from raptor_core.errors import RecordsError

pytestmark = pytest.mark.slow


@contextmanager
def workshop_in(kind, request, tmp_path, monkeypatch):
    made = Workshop(tmp_path)
    with ExitStack() as stack:
        if kind != "sqlite":
            server = request.getfixturevalue("postgres")
            behind = nullcontext(server.new_database()) if kind == "postgres" else pgbouncer(server)
            keep_records_in(stack.enter_context(behind), made.home, monkeypatch)
        with made.instance():  # makes its tables, which two at once cannot
            pass
        yield made


@pytest.fixture(params=["sqlite", "postgres", "pgbouncer"])
def workshop(request, tmp_path, monkeypatch):
    with workshop_in(request.param, request, tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture(params=["postgres", "pgbouncer"])
def in_database(request, tmp_path, monkeypatch):
    with workshop_in(request.param, request, tmp_path, monkeypatch) as made:
        yield made


def turn_of(workshop, instance, run_id, told=None):
    told = [] if told is None else told
    return begin_turn(workshop.home.turns, instance, run_id, told.append)


def test_a_partition_is_one_runs_at_a_time(workshop):
    order, told, first_has_it = [], [], threading.Event()

    def second():
        with workshop.instance() as instance:
            turn = turn_of(workshop, instance, "second-run", told)
            assert first_has_it.wait(30)
            with turn.take(["b", "a"]):
                order.append("second")
            turn.close()

    other = threading.Thread(target=second)
    other.start()
    with workshop.instance() as instance:
        turn = turn_of(workshop, instance, "first-run")
        with turn.take(["a", "c"]):
            first_has_it.set()
            wait_until(lambda: told, [])
            order.append("first")
        other.join()
        turn.close()
    assert order == ["first", "second"]
    (message,) = told
    assert "partition 'a': waiting for" in message


def test_other_partitions_do_not_wait(workshop):
    told = []
    with workshop.instance() as instance:
        turn = turn_of(workshop, instance, "first-run", told)
        with turn.take(["a", "b"]):

            def other():
                with workshop.instance() as own:
                    turn = turn_of(workshop, own, "second-run", told)
                    with turn.take(["c", "d"]):
                        told.append("at c and d")
                    turn.close()

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            assert told == ["at c and d"]
        turn.close()


def test_a_build_and_a_drop_wait_for_their_turn(workshop):
    workshop.write("a.md", prose(12))
    told = []
    for act in (lambda: told.append(workshop.build("a.md")), lambda: workshop.drop("a.md")):
        with workshop.instance() as instance:
            turn = turn_of(workshop, instance, "first-run")
            with turn.take(["a.md"]):
                before = set(workshop.manifests())
                thread = threading.Thread(target=act)
                thread.start()
                thread.join(3)
                assert thread.is_alive()
                assert set(workshop.manifests()) == before
            thread.join()
            turn.close()
        assert set(workshop.manifests()) != before
    assert told[0].built == ["a.md"]


def test_the_one_who_holds_a_turn_is_named(in_database):
    told = []
    with in_database.instance() as instance:
        turn = turn_of(in_database, instance, "0123456789")
        with turn.take(["a"]):

            def wait():
                with in_database.instance() as own:
                    waiting = turn_of(in_database, own, "second-run", told)
                    with waiting.take(["a"]):
                        pass
                    waiting.close()

            thread = threading.Thread(target=wait)
            thread.start()
            while not told and thread.is_alive():
                thread.join(0.05)
        thread.join()
        turn.close()
    assert "raptor run 01234567 on " in told[0]


def test_a_turn_that_was_lost_stops_the_run(postgres, in_database):
    with in_database.instance() as instance:
        turn = turn_of(in_database, instance, "first-run")
        with turn.take(["a"]):
            turn.require()
            with instance.event_log_storage.index_connection() as connection:
                connection.exec_driver_sql(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where starts_with(application_name, 'raptor run')"
                )
            with pytest.raises(RecordsError, match="turn at these partitions was lost"):
                turn.require()
            wait_until(lambda: not living_runs(instance, ["first-run"]), [])
        turn.close()


def test_a_run_of_another_machine_is_dead_when_nobody_holds_its_lock(in_database):
    with in_database.instance() as instance:
        runs = {}
        for name in ("living", "dead"):
            run = instance.create_run_for_job(
                in_database.definitions().resolve_job_def("build"),
                status=dg.DagsterRunStatus.STARTED,
                tags={PROCESS_TAG: "another-machine:1"},
            )
            runs[name] = run.run_id
            instance.add_run_tags(run.run_id, {TURN_TAG: run.run_id})
        retried = instance.create_run_for_job(
            in_database.definitions().resolve_job_def("build"),
            status=dg.DagsterRunStatus.STARTING,
            tags=dict(instance.get_run_by_id(runs["dead"]).tags),
        )
        turn = turn_of(in_database, instance, runs["living"])
        assert fail_dead_runs(instance) == [runs["dead"]]
        assert instance.get_run_by_id(retried.run_id).status == dg.DagsterRunStatus.STARTING
        assert instance.get_run_by_id(runs["dead"]).status == dg.DagsterRunStatus.FAILURE
        assert fail_dead_runs(instance) == []
        turn.close()
        failed: list[str] = []  # the server frees a connection's locks a moment after it was closed
        wait_until(lambda: failed.extend(fail_dead_runs(instance)) or failed, [])
        assert failed == [runs["living"]]


def test_a_dead_run_has_failed_before_the_daemon_can_see_that_it_did(in_database, monkeypatch):
    """Dagster's daemon looks once at the run of an event, to try it again if it has failed."""
    with in_database.instance() as instance:
        job = in_database.definitions().resolve_job_def("build")
        run = instance.create_run_for_job(
            job, status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: "another-machine:1"}
        )
        instance.add_run_tags(run.run_id, {TURN_TAG: run.run_id})
        store_event = instance.event_log_storage.store_event
        seen = []

        def watched(event):
            if event.dagster_event_type == dg.DagsterEventType.RUN_FAILURE:
                seen.append(instance.get_run_by_id(run.run_id).status)
            store_event(event)

        monkeypatch.setattr(instance.event_log_storage, "store_event", watched)
        assert fail_dead_runs(instance) == [run.run_id]
    assert seen == [dg.DagsterRunStatus.FAILURE]


def test_the_pool_bounds_how_many_build_at_once(in_database):
    in_database.write("a.md", prose(12))
    with in_database.instance() as instance:
        storage = instance.event_log_storage
        storage.set_concurrency_slots(keys.POOL, 1)
        other = instance.create_run_for_job(in_database.definitions().resolve_job_def("build"))
        assert storage.claim_concurrency_slot(keys.POOL, other.run_id, "raptor").is_claimed
        built = []
        thread = threading.Thread(target=lambda: built.append(in_database.build().built))
        thread.start()
        thread.join(3)
        assert thread.is_alive()
        assert in_database.manifests() == {}
        storage.free_concurrency_slots_for_run(other.run_id)
        thread.join()
    assert built == [["a.md"]]
