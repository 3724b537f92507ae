"""Damaged files of Dagster's records: each command names the file, and the remedy works."""

import json
import os
import re
from pathlib import Path

import pytest
from support.ports import free_port

from raptor_assets.assets import names
from raptor_assets.home.folder import Home
from raptor_assets.home.record_file import read_record_file
from raptor_assets.home.records import read_outcomes
from raptor_assets.local.dagster import open_instance

pytestmark = pytest.mark.slow

RUNNING = [("drop", "soup.md", "--yes"), ("ui", "--port", free_port())]
READING = [("status",), ("build",)]
NEEDING = {
    "history/runs/event_log.db": [*READING, *RUNNING],
    "schedules/schedules.db": RUNNING,
    "dagster.yaml": [*READING, ("plan",), *RUNNING],
}
DATABASES = list(NEEDING)[:2]
PARTITIONS = ["farness/harbour.md", "farness/lighthouse.md", "soup.md"]


def test_the_file_of_the_records_says_what_dagster_says(built):
    home, settings = Home.open(built.home)
    checks = names.partition_checks(settings)
    partitions, outcomes = read_record_file(home, checks)
    with open_instance(home) as instance:
        assert partitions == sorted(instance.get_dynamic_partitions(home.names().partitions))
        assert outcomes == read_outcomes(instance, checks)
    assert len(outcomes) > len(PARTITIONS)
    assert not all(outcome.passed for outcome in outcomes.values())


def overwrite(path):
    path.write_bytes(b"\xff" * 9000)


def make_folder(path):
    path.unlink()
    path.mkdir()


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


@pytest.mark.parametrize("name", DATABASES)
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


EVENTS = "event_log_storage:\n  module: {}\n  class: {}\n  config: {{{}: 1}}\n"
SETTINGS = {
    "Is a directory": make_folder,
    "while parsing": lambda path: path.write_text("run_storage: [\n : :"),
    "import module nosuch": lambda path: path.write_text(EVENTS.format("nosuch", "Log", "x")),
    'entry "base"': lambda path: path.write_text(
        EVENTS.format("raptor_assets.local.storage", "PooledSqliteEventLogStorage", "base")
    ),
}


@pytest.mark.rare
def test_instance_settings_that_cannot_be_read_are_named_and_written_anew(own, monkeypatch):
    path = own.home / "dagster" / "dagster.yaml"
    for reason, damage in SETTINGS.items():
        damage(path)
        for code, message in refusals(own, "dagster.yaml", monkeypatch):
            assert code == 3
            assert message.startswith(f"{path}, Dagster's instance settings, cannot be read: ")
            assert reason in message
        follow_remedy(message)
        assert own.call("status").code == 0
    assert own.call("build", "--json").json["unchanged"] == PARTITIONS
