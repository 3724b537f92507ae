"""Paid answers survive a kill, and no file of them is left when the store has them."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support import paid_build
from support.openai_server import FakeOpenAI
from support.paid_build import CONCURRENCY, DOCUMENTS, make_tools, paid_settings
from support.stores import PROCESS_PATH

from raptor_core.errors import StoreError
from raptor_core.tree import answers as module
from raptor_core.tree.answers import AnswerLog
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import MemoryCache
from raptor_core.tree.steps import embed_nodes, make_leaves

VECTOR = np.array([0.6, 0.8], dtype=np.float32)


def files(folder):
    return sorted(path.name for path in folder.glob("*.jsonl"))


def test_what_is_kept_is_there_in_the_next_process_and_gone_once_forgotten(tmp_path):
    with AnswerLog(tmp_path) as log:
        log.keep_text("a", "one")
        log.keep_vectors({"v": VECTOR})
    with AnswerLog(tmp_path) as log:
        assert log.texts(["a", "b", "v"]) == {"a": "one"}
        np.testing.assert_array_equal(log.vectors(["a", "v"])["v"], VECTOR)
        log.forget(["a"])
    with AnswerLog(tmp_path) as log:
        assert log.texts(["a"]) == {}
        assert log.vectors(["v"]).keys() == {"v"}
        log.forget(["v"])
    assert files(tmp_path) == []


def test_without_a_folder_or_outside_with_nothing_is_kept(tmp_path):
    with AnswerLog() as log:
        log.keep_text("a", "one")
    assert not log.is_durable
    log = AnswerLog(tmp_path / "answers")
    log.keep_text("a", "one")
    with log:
        assert log.texts(["a"]) == {}
    assert not (tmp_path / "answers").exists()


def test_a_line_that_a_crash_cut_off_costs_that_answer_and_no_other(tmp_path):
    with AnswerLog(tmp_path) as log:
        log.keep_text("a", "one")
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes() + b'{"key": "b", "at": 99')
    with AnswerLog(tmp_path) as log:
        log.keep_text("c", "three")
    with AnswerLog(tmp_path) as log:
        assert log.texts("abc") == {"a": "one", "c": "three"}


def test_an_answer_that_the_disk_changed_is_no_answer(tmp_path):
    with AnswerLog(tmp_path) as log:
        log.keep_text("a", "one")
        log.keep_text("b", "two")
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"too"'))
    with AnswerLog(tmp_path) as log:
        assert log.texts("ab") == {"a": "one"}


def test_two_at_once_have_a_file_each_and_the_next_reads_both(tmp_path):
    with AnswerLog(tmp_path) as one, AnswerLog(tmp_path) as two:
        one.keep_text("a", "one")
        two.keep_text("b", "two")
        assert two.texts(["a"]) == {}
    assert len(files(tmp_path)) == 2
    with AnswerLog(tmp_path) as log:
        assert log.texts("ab") == {"a": "one", "b": "two"}
        log.forget("a")
    assert len(files(tmp_path)) == 1
    with AnswerLog(tmp_path) as log:
        assert log.texts("ab") == {"b": "two"}


def test_answers_that_nobody_asked_for_are_dropped_in_the_end(tmp_path, monkeypatch):
    with AnswerLog(tmp_path) as log:
        log.keep_text("a", "one")
    monkeypatch.setattr(module, "KEEP_SECONDS", -10)
    with AnswerLog(tmp_path) as log:
        assert log.texts("a") == {}
    assert files(tmp_path) == []


def test_a_log_within_itself_ends_with_the_outer_one(tmp_path):
    log = AnswerLog(tmp_path)
    with log:
        with log:
            log.keep_text("a", "one")
        assert log.texts("a") == {"a": "one"}


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    (tmp_path / "answers").write_text("a file")
    with AnswerLog(tmp_path / "answers") as log, pytest.raises(StoreError, match="answers"):
        log.keep_text("a", "one")


def test_a_finished_layer_leaves_no_answer_on_disk(tmp_path):
    with FakeOpenAI() as server:
        build_tree(DOCUMENTS, tools=make_tools(paid_settings(server.base_url), tmp_path))
    assert server.n_requests
    assert files(tmp_path) == []


class ClosedStore(MemoryCache):
    """A cache that takes nothing."""

    def stage(self, nodes, vectors):
        if vectors is None:
            raise StoreError("the store is locked")
        super().stage(nodes, vectors)


def test_answers_that_the_store_did_not_take_are_not_asked_for_again(tmp_path):
    with FakeOpenAI() as server:
        settings = paid_settings(server.base_url, tree={"max_layers": 1})
        with pytest.raises(StoreError, match="locked"):
            build_tree(DOCUMENTS, tools=make_tools(settings, tmp_path), cache=ClosedStore())
        n_paid = server.n_requests
        tree = build_tree(DOCUMENTS, tools=make_tools(settings, tmp_path), cache=MemoryCache())
        assert len(tree.layers[1].nodes) == server.n_requests == n_paid
    assert files(tmp_path) == []


class FullDisk(MemoryCache):
    """A cache that takes no vector."""

    def stage(self, nodes, vectors):
        raise StoreError("no space is left")


def test_vectors_that_the_store_did_not_take_are_not_asked_for_again(tmp_path):
    with FakeOpenAI() as server:
        embedder = {"kind": "openai", "model": "vector", "base_url": server.base_url}
        settings = paid_settings(server.base_url, embedder=embedder, tokens={"counter": "tiktoken"})
        leaves = make_leaves("t", DOCUMENTS, make_tools(settings))
        with pytest.raises(StoreError, match="space"):
            embed_nodes(leaves, make_tools(settings, tmp_path), FullDisk())
        n_paid, tools = server.n_requests, make_tools(settings, tmp_path)
        assert tools.embedder.n_dims  # asked for once in each process
        embedded = embed_nodes(leaves, tools, MemoryCache())
        assert server.n_requests == n_paid + 1
        np.testing.assert_array_equal(
            embedded.vectors, tools.embedder.embed([leaf.embedding_text for leaf in leaves])
        )
    assert embedded.n_reused == len({leaf.embedding_key for leaf in leaves})
    assert files(tmp_path) == []


def test_junk_in_the_log_becomes_no_summary(tmp_path):
    with FakeOpenAI() as server:
        settings = paid_settings(server.base_url, tree={"max_layers": 1})
        with pytest.raises(StoreError):
            build_tree(DOCUMENTS, tools=make_tools(settings, tmp_path), cache=ClosedStore())
        n_paid = server.n_requests
        (path,) = tmp_path.glob("*.jsonl")
        lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        lines[0]["text"] = "I'm sorry, but I can't assist with that request."
        path.write_text("\n".join(map(json.dumps, lines)))
        tree = build_tree(DOCUMENTS, tools=make_tools(settings, tmp_path), cache=MemoryCache())
        assert server.n_requests == n_paid + 1
    assert all("sorry" not in node.text for node in tree.nodes())


class Gate:
    """Lets the first requests through and holds the others until it is opened."""

    def __init__(self, n):
        self.n = n
        self.answered = []
        self._lock = threading.Lock()
        self._opened = threading.Event()

    def __call__(self, body):
        with self._lock:
            passes = len(self.answered) < self.n
            if passes:
                self.answered.append(str(body))
        if not passes:
            self._opened.wait(60)

    def open(self):
        self._opened.set()


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def start(server, folder):
    script = Path(paid_build.__file__)
    environment = {**os.environ, "PYTHONPATH": PROCESS_PATH}
    return subprocess.Popen(
        [sys.executable, str(script), server.base_url, str(folder)], env=environment
    )


@pytest.mark.slow
@pytest.mark.parametrize(("layer", "n_answered"), [(1, 1), (1, 10), (2, 2)])
def test_a_killed_build_has_lost_no_answer_that_it_received(tmp_path, layer, n_answered):
    with FakeOpenAI() as other:
        whole = build_tree(DOCUMENTS, tools=make_tools(paid_settings(other.base_url)))
    sizes = [len(above.nodes) for above in whole.layers]
    assert sizes[layer] >= n_answered + CONCURRENCY
    gate = Gate(sum(sizes[1:layer]) + n_answered)
    with FakeOpenAI(hold=gate) as server:
        process = start(server, tmp_path)
        # Every thread has come back for another answer, so each has kept its last one.
        until(lambda: server.n_requests == gate.n + CONCURRENCY)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert files(tmp_path / "answers") == ["answers-0.jsonl"]
        gate.open()
        again = paid_build.build(server.base_url, tmp_path)
        asked = Counter(str(body) for body in server.bodies)
    assert {asked[body] for body in gate.answered} == {1}
    assert list(again.nodes()) == list(whole.nodes())
    assert server.n_requests == other.n_requests + CONCURRENCY
    assert files(tmp_path / "answers") == []
