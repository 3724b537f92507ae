"""Damaged files of Dagster's records: each command names the file, and the remedy works."""

import json
import os
import re
from pathlib import Path

import pytest
from support.ports import free_port

from raptor_assets.assets import names
from raptor_assets.home.folder import Home
from raptor_assets.home.record_file import read_failure_file, read_record_file
from raptor_assets.home.records import read_failures, read_outcomes
from raptor_assets.local.dagster import open_instance_and_clean_up

pytestmark = pytest.mark.slow

RUNNING = [("drop", "soup.md", "--yes"), ("ui", "--port", free_port())]
READING = [("status",), ("build",)]
NEEDING = {
    "history/runs/event_log.db": [*READING, *RUNNING],
    "schedules/schedules.db": RUNNING,
}
PARTITIONS = ["farness/harbour.md", "farness/lighthouse.md", "soup.md"]


def test_the_file_of_the_records_says_what_dagster_says(built):
    home, settings = Home.open_with_settings(built.home)
    checks = names.partition_checks(settings)
    partitions, outcomes = read_record_file(home, checks)
    with open_instance_and_clean_up(home) as instance:
        assert partitions == sorted(
            instance.get_dynamic_partitions(home.read_names().partitions_name)
        )
        assert outcomes == read_outcomes(instance, checks)
        assert read_failure_file(home) == read_failures(instance, home.read_names().tree) == {}
    assert len(outcomes) > len(PARTITIONS)
    assert not all(outcome.passed for outcome in outcomes.values())


def overwrite(path):
    path.write_bytes(b"\xff" * 9000)


def refusals(home, name, monkeypatch):
    """Exit codes and messages of the commands that need a file; `query` needs none."""
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the UI was started"))
    assert home.call("query", "crab soup").code == 0
    printed = [home.call(*command, "--json") for command in NEEDING[name]]
    return [(one.code, json.loads(one.out)["message"]) for one in printed]


def follow_remedy(message):
    path = Path(re.search(r"move (\S+) away", message)[1])
    path.rename(path.with_name(f"moved away {len(list(path.parent.iterdir()))}"))


def check_home(home):
    built = home.call("build")
    assert built.code == 0
    assert "0 texts embedded, 0 summaries written" in built.out
    assert [tree["tree"] for tree in home.call("status", "--json").json["trees"]] == PARTITIONS


@pytest.mark.parametrize("name", NEEDING)
def test_a_damaged_database_is_an_error_and_moving_the_records_away_helps(own, monkeypatch, name):
    path = own.home / "dagster" / name
    overwrite(path)
    for code, message in refusals(own, name, monkeypatch):
        assert code == 1
        assert message.startswith("Dagster's records refused: ")
    follow_remedy(message)
    check_home(own)
    path.write_bytes(b"")  # counts as a new one
    check_home(own)
