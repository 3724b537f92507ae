"""The settings file that a new home gets, and how sources are added to it."""

from pathlib import Path

import pytest
import tomlkit
from support.command import raptor

from raptor_assets.home.folder import Home
from raptor_assets.home.settings_file import add_sources_to_text, to_settings_text
from raptor_core.settings import PRESETS, Settings, load_settings, preset


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_new_file_means_exactly_its_preset(name, tmp_path):
    path = tmp_path / "raptor.toml"
    path.write_text(to_settings_text(sources=["docs"], preset=name, group_by="folder"))
    wanted = preset(name).model_dump()
    wanted["source"]["paths"] = ("docs",)
    wanted["grouping"]["by"] = "folder"
    assert load_settings(path, {}) == Settings.model_validate(wanted)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_comment_that_shows_a_default_can_be_switched_on(name, tmp_path):
    text = to_settings_text(sources=[], preset=name, group_by="document", is_complete=True)
    shown = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    shown = [line for line in shown if not (line.startswith("#") or ": " in line.split(" = ")[0])]
    path = tmp_path / "raptor.toml"
    path.write_text("\n".join(shown))
    assert load_settings(path, {}) == preset(name)


def test_added_sources_leave_comments_and_values_alone():
    text = (
        '# mine\n[source]  # where\npaths = ["a"]  # first\n\n[chunking]\nmax_tokens = 50 # small\n'
    )
    changed = add_sources_to_text(text, ["b", "s3://c/d"])
    assert tomlkit.parse(changed)["source"]["paths"] == ["a", "b", "s3://c/d"]
    for comment in ("# mine", "# where", "# first", "# small"):
        assert comment in changed
    assert tomlkit.parse(changed)["chunking"]["max_tokens"] == 50


def test_init_keeps_sources_absolute_and_never_overwrites(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("docs", "other"):
        (tmp_path / name).mkdir()
    mistyped = raptor("init", "nosuch", "--home", "h")
    assert (mistyped.code, Path("h").exists()) == (4, False)
    first = raptor("init", "docs", "s3://bucket/x", "--preset", "paper", "--home", "h", "--json")
    assert (first.code, first.json["created"]) == (0, True)
    settings = Home.at("h").load_settings()
    assert settings.source.paths == (str(tmp_path / "docs"), "s3://bucket/x")
    assert settings.clustering == preset("paper").clustering
    text = Home.at("h").settings_path.read_text()
    again = raptor("init", "other", "--home", "h")
    assert again.code == 0
    assert "kept" in again.out
    assert Home.at("h").settings_path.read_text() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[chunking]\nmax_token = 50\n", "max_tokens"),
        ("[chunking]\nmax_tokens = 1\n", "chunking.max_tokens"),
        ("[chunking\n", "not valid TOML"),
        ('preset = "nosuch"\n', "nosuch"),
        ("[nosuch]\nx = 1\n", "nosuch"),
        ("[clustering]\nmax_tokens = 100\n", "the tokens of two nodes"),
    ],
)
def test_a_wrong_settings_file_exits_with_3_and_says_what_and_where(text, message, tmp_path):
    (tmp_path / "raptor.toml").write_text(text)
    printed = raptor("status", "--home", tmp_path, "--json")
    assert (printed.code, printed.json["error"]) == (3, "SettingsError")
    assert message in printed.json["message"]
    assert "raptor.toml" in printed.json["message"] or "preset" in printed.json["message"]
