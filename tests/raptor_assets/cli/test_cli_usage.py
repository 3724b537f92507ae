"""The command line itself: help, mistakes, what is imported, what goes where."""

import json
import os
import subprocess
import sys

import pytest
from support.command import raptor
from test_architecture import HEAVY

from raptor_assets.cli.app import COMMANDS
from raptor_assets.cli.commands.curate import curate_command
from raptor_assets.cli.commands.eval import LABORATORY
from raptor_assets.cli.commands.versions import versions_command
from raptor_assets.cli.exits import exit_code, exit_code_of_failures
from raptor_core import errors


@pytest.mark.parametrize(
    "command",
    [
        *sorted(COMMANDS.keys() - {"eval", "curate", "versions"}),
        *(f"eval {name}" for name in ("golden", *LABORATORY)),
        *(f"curate {name}" for name in sorted(curate_command.commands)),
        *(f"versions {name}" for name in sorted(versions_command.commands)),
    ],
)
def test_help_says_what_it_does_and_gives_an_example(command):
    printed = raptor(*command.split(), "--help")
    assert printed.code == 0
    assert f"Example:\n    raptor {command} " in printed.out
    assert "--home" in printed.out
    assert "--json" in printed.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["query"],
        ["query", " "],
        ["query", "what?", "--top-k", "-1"],
        ["query", "what?", "--layer", "-1"],
        ["query", "what?", "--strategy", "best"],
        ["drop"],
        ["drop", "a.md"],
        ["init", "--group-by", "nothing"],
        ["status", "--nosuch"],
        ["curate", "correct", "a-node"],  # reported without a home, too
    ],
)
def test_a_mistake_on_the_command_line_exits_with_2_and_as_json_where_json_is_asked(
    arguments, tmp_path
):
    printed = raptor(*arguments, "--home", tmp_path / "h", "--json")
    assert printed.code == 2
    assert printed.json["error"] == ("QuestionError" if " " in arguments else "UsageError")
    assert printed.json["message"]
    assert printed.err == ""
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    "command", ["status", "query x", "ask x", "tree x", "drop x --yes", "ui", "serve", "mcp"]
)
def test_a_place_without_a_home_exits_with_4_and_says_how_to_make_one(command, tmp_path):
    where = [*command.split(), "--home", tmp_path / "none"]
    printed = raptor(*where)
    assert (printed.code, printed.out) == (4, "")
    assert "raptor build SOURCE" in printed.err
    as_json = raptor(*where, "--json")
    assert (as_json.code, as_json.json["error"]) == (4, "MissingHomeError")
    assert not (tmp_path / "none").exists()


def test_exit_codes_follow_the_errors_class():
    assert exit_code(errors.MissingHomeError) == 4
    assert exit_code(errors.SettingsError) == 3
    assert exit_code(errors.EmptySourceError) == 4
    assert exit_code(errors.StoreLockedError) == 6
    assert exit_code(errors.MissingKeyError) == 7
    assert exit_code(errors.TableError) == 1


def test_failed_partitions_exit_with_the_code_of_their_common_cause():
    assert exit_code_of_failures(["StoreLockedError"], partly=False) == 6
    assert exit_code_of_failures(["MissingKeyError"], partly=False) == 7
    assert exit_code_of_failures(["MissingKeyError"], partly=True) == 5
    assert exit_code_of_failures(["MissingKeyError", "ModelError"], partly=False) == 5
    assert exit_code_of_failures([""], partly=False) == 5


def test_an_interrupt_exits_with_130(monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("raptor_assets.home.folder.Home.create", interrupt)
    printed = raptor("init", "--home", tmp_path, "--json")
    assert printed.code == 130
    assert printed.json["error"] == "Interrupted"


def imported_by(*arguments):
    """Names of the modules that a call of the command imports."""
    code = (
        "import json, sys\n"
        "from raptor_assets.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as end:\n    assert end.code in (None, 0), end.code\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_output_is_utf_8_whatever_the_encoding_of_the_stream(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    code = "from raptor_assets.cli import main; main()"
    command = (sys.executable, "-c", code, "tree", "x", "--home", tmp_path / "→")
    printed = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (printed.returncode, "/→" in printed.stderr.decode()) == (4, True)


MODELS = {"torch", "sentence_transformers", "sklearn", "umap", "numba", "openai", "qdrant_client"}


def test_help_imports_neither_dagster_nor_numpy():
    assert not imported_by("--help") & {*MODELS, "dagster", "numpy", "pydantic", "mcp"}


NEEDED = {"pyarrow", "qdrant_edge"}
"""The look at the source is kept in a table, and what is published in the store."""

ALONE = """
import sys
from raptor_assets.cli import main
for command in ("plan", "tree soup.md", "status", "status --cost"):
    try:
        main([*command.split(), "--home", sys.argv[2]])
    except SystemExit as end:
        assert not end.code, end.code
    print(*sorted(set(sys.argv[1].split()) & sys.modules.keys()), file=sys.stderr)
"""


@pytest.mark.slow
def test_an_answer_without_work_loads_neither_dagster_nor_a_model(built):
    heavy = " ".join((HEAVY | {"dagster", "sqlalchemy"}) - NEEDED)
    finished = subprocess.run(
        [sys.executable, "-c", ALONE, heavy, built.home],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout
    assert finished.stderr.split() == []
