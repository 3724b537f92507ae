import subprocess
import sys
import threading

import pytest
from support import store_process
from support.stores import PROCESS_PATH, make_tree, open_at, publish

from raptor_core.errors import StoreError, StoreLockedError


def start(*args):
    return subprocess.Popen(
        [sys.executable, store_process.__file__, *map(str, args)],
        env={"PYTHONPATH": PROCESS_PATH},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_waiter_says_who_holds_the_store_and_a_killed_holder_lets_it_go(tmp_path):
    with open_at(tmp_path) as store:
        publish(store, make_tree())
    with start("hold", tmp_path) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLockedError, match=rf"process {holder.pid} on .*store_process"):
            open_at(tmp_path, lock_seconds=0.1)
        holder.kill()
    with open_at(tmp_path, lock_seconds=5) as store:
        assert store.count() == 15


@pytest.mark.slow
def test_processes_that_publish_take_turns(tmp_path):
    with open_at(tmp_path):
        pass
    writers = [start("publish_rounds", tmp_path, word) for word in ("red", "blue")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    for writer in writers:
        writer.stdout.close()
    with open_at(tmp_path) as store:
        first = store.nodes()[0].text.split()[0]
        assert first in ("red3", "blue3")
        assert sorted(n.text for n in store.nodes()) == sorted(
            n.text for n in make_tree(word=first)
        )
        assert len(store.point_ids("t")) == store.count()


def test_threads_share_one_store(store):
    publish(store, make_tree(n=40))
    found, failed = [], []

    def ask():
        try:
            found.append(len(store.search_text(["leaf"], 99)[0]))
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, failed) == ([40] * 8, [])
