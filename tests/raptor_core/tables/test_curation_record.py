"""The record of what people decided: nothing lost, nothing half, the last word counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.stores import PROCESS_PATH

from raptor_core.curation import Curation, subject_of_summary
from raptor_core.errors import CurationError, DamagedTableError
from raptor_core.tables.curation import (
    read_curation,
    read_decisions,
    record_decision,
    undo_decision,
)
from raptor_core.tables.files import TableStore

DOCUMENTS = ("a.md",)
SUBJECT = subject_of_summary(DOCUMENTS, ["key"])


@pytest.fixture
def tables(tmp_path):
    return TableStore(str(tmp_path))


def test_the_last_decision_on_a_subject_counts_and_the_one_before_once_it_is_taken_back(tables):
    record_decision(tables, "summary", "t", SUBJECT, value="first", who="Ines", documents=DOCUMENTS)
    last = record_decision(
        tables, "summary", "t", SUBJECT, value="second", who="Per", documents=DOCUMENTS
    )
    assert read_curation(tables).summary_decision(["a.md"], ["key"]).value == "second"
    undo_decision(tables, last.id, who="Ines")
    assert read_curation(tables).summary_decision(["a.md"], ["key"]).value == "first"
    assert read_curation(tables).summary_decision(["a.md"], ["another key"]) is None
    assert read_curation(tables).summary_decision(["b.md"], ["key"]) is None  # equal text elsewhere
    with pytest.raises(CurationError, match="no decision"):
        undo_decision(tables, last.id, who="Ines")


def test_a_tree_without_decisions_has_no_digest_and_one_with_them_has_the_same_again(tables):
    def digest(*documents):
        return read_curation(tables).digest(documents)

    assert digest("a", "b") == ""
    made = record_decision(tables, "summary", "t", "summary", who="Ines", documents=("a", "b"))
    once = digest("a", "b", "c")
    assert once
    assert (digest("a"), digest("c")) == ("", "")
    undo_decision(tables, made.id, who="Ines")
    assert digest("a", "b", "c") == ""
    record_decision(tables, "summary", "other name", "summary", who="Per", documents=("a", "b"))
    assert digest("a", "b", "c") == once


def test_a_damaged_act_is_named_and_not_passed_over(tables, tmp_path):
    made = record_decision(tables, "chunk", "t", "leaf", who="Ines", documents=DOCUMENTS)
    file = tmp_path / "curation" / f"{made.id}.parquet"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(DamagedTableError, match=made.id):
        read_curation(tables)


@pytest.mark.slow
@pytest.mark.rare
def test_two_writers_that_are_killed_lose_no_confirmed_act_and_leave_none_in_part(tmp_path):
    announced_ids, environ = set(), {**os.environ, "PYTHONPATH": PROCESS_PATH}
    for round_ in range(4):
        command = [sys.executable, "-m", "support.curation_process", str(tmp_path)]
        writers = [
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                text=True,
                env=environ,
            )
            for _ in range(2)
        ]
        for writer in writers:
            for _ in range(1 + 3 * round_):
                announced_ids.add(writer.stdout.readline().strip())
        for writer in writers:
            writer.kill()
            rest, _ = writer.communicate()
            announced_ids.update(
                line for line in rest.splitlines(keepends=True) if line.endswith("\n")
            )
    announced_ids = {line.strip() for line in announced_ids}
    decisions = read_decisions(TableStore(str(tmp_path)))
    assert announced_ids <= {decision.id for decision in decisions}
    assert (
        len(Curation(decisions).set_aside_chunk_subjects)
        == len(decisions)
        >= len(announced_ids)
        >= 8
    )
    assert not [path for path in Path(tmp_path).rglob("*.parquet") if not path.stat().st_size]
