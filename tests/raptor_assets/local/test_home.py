"""A home's folders, and Dagster's instance settings in it."""

import subprocess
from pathlib import Path

from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance
from raptor_assets.local.storage import PooledSqliteEventLogStorage


def test_a_path_wins_over_the_variable_and_the_variable_over_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("RAPTOR_HOME", str(tmp_path / "env"))
    assert Home.at(tmp_path / "here").path == tmp_path / "here"
    assert Home.at().path == tmp_path / "env"
    monkeypatch.delenv("RAPTOR_HOME")
    assert Home.at().path == Path.cwd() / ".raptor"


def test_telemetry_and_the_sign_up_dialog_are_off(tmp_path):
    with open_instance(Home(tmp_path / "h")) as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
        assert isinstance(instance.event_log_storage, PooledSqliteEventLogStorage)
        assert instance.get_concurrency_config().run_queue_config.max_concurrent_runs == 1


def test_a_moved_home_keeps_its_record_in_its_new_place(tmp_path):
    with open_instance(Home(tmp_path / "old's")) as instance:
        instance.add_dynamic_partitions("trees", ["a"])
    (tmp_path / "old's").rename(tmp_path / "new")
    with open_instance(Home(tmp_path / "new")) as instance:
        assert list(instance.get_dynamic_partitions("trees")) == ["a"]
    assert not (tmp_path / "old's").exists()


def test_git_keeps_the_settings_of_a_home_and_nothing_else(tmp_path):
    def git(*arguments):
        command = ["git", "-C", tmp_path, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet")
    home = Home.at(tmp_path / "home")
    home.ensure()
    (home.path / "raptor.toml").write_text("")
    (home.path / "tables" / "nodes.parquet").write_text("")
    shown = git("status", "--porcelain", "--untracked-files=all").split()
    assert shown[1::2] == ["home/.gitignore", "home/raptor.toml"]
