"""The cache of unfinished work in a real PostgreSQL server: runs on many machines share it."""

import threading

import numpy as np
import pytest
from support.servers import keep_records_in
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose

from raptor_assets.home.records import shared_cache
from raptor_core.errors import RecordsError

pytestmark = [pytest.mark.slow, pytest.mark.rare]

TEXT = "Grüße 世界, a pair 🕯"


@pytest.fixture
def workshop(postgres, tmp_path, monkeypatch):
    made = Workshop(tmp_path, components={"summarizer": ScriptedSummarizer(failing="zebra")})
    keep_records_in(postgres.new_database(), made.home, monkeypatch)
    return made


def test_it_keeps_what_the_file_in_a_home_keeps(workshop):
    vector = np.array([0.6, 0.8], dtype=np.float32)
    with workshop.instance() as instance:
        one, other = (shared_cache(instance, name) for name in ("one", "other"))
        assert (one.texts(["a"]), one.unfinished()) == ({}, [])
        for cache in (one, other):
            cache.want([("t", "a"), ("t", "a"), ("t", "v")])
        one.keep_texts({"a": "first", "b": "beside"})
        one.keep_texts({"a": TEXT})
        one.keep_vectors({"v": vector})
        assert other.texts(["a", "v"]) == {"a": TEXT}
        assert other.vectors(["a", "v"])["v"].tobytes() == vector.tobytes()
        one.forget(["t"])
        assert (one.unfinished(), other.unfinished()) == ([], ["t"])
        assert other.texts(["a"]) == {"a": TEXT}
        other.forget(["t"])
        assert (one.texts(["a", "b"]), one.vectors(["v"])) == ({"b": "beside"}, {})
        one.discard(["b"])
        assert one.texts(["b"]) == {}


def test_runs_at_once_make_its_tables_and_lose_nothing(workshop):
    with workshop.instance() as instance:
        caches = [shared_cache(instance, "corpus") for _ in range(4)]
        names = [f"{run} {number}" for run in range(4) for number in range(20)]

        def work(run):
            for number in range(20):
                caches[run].want([(f"tree {run}", f"{run} {number}"), (f"tree {run}", "shared")])
                caches[run].keep_texts({f"{run} {number}": "text", "shared": f"of {run}"})

        threads = [threading.Thread(target=work, args=(run,)) for run in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert caches[0].texts(names).keys() == set(names)
        caches[0].forget(["tree 0", "tree 1", "tree 2"])
        assert caches[0].texts(["3 0", "0 0", "shared"]).keys() == {"3 0", "shared"}


def unfinished(workshop):
    with workshop.instance() as instance:
        return shared_cache(instance, "corpus").unfinished()


def test_another_machine_goes_on_with_what_a_run_left(workshop):
    workshop.write("a.md", prose(40, seed=2) + "\n\nA zebra stands there.")
    assert workshop.build().built == []
    assert unfinished(workshop) == ["a.md"]
    assert not (workshop.home.answers / "cache.sqlite").exists()
    n_made = workshop.parts_given["summarizer"].n_made
    assert n_made
    left = workshop.parts_given["summarizer"] = ScriptedSummarizer()
    workshop.configure()
    assert workshop.build().built == ["a.md"]
    assert unfinished(workshop) == []
    sizes = workshop.manifests()["a.md"].layer_sizes
    assert n_made + left.n_made == sum(sizes[1:])


def test_a_database_that_does_not_answer_is_reported(postgres, workshop):
    with workshop.instance() as instance:
        shared_cache(instance, "corpus").keep_texts({"a": "text"})
        instance.event_log_storage.postgres_url = postgres.new_database() + "_that_is_not_there"
        with pytest.raises(RecordsError, match="cache of unfinished work cannot be used"):
            shared_cache(instance, "corpus").texts(["a"])
