"""A terminal: the bar of a build moves on it, and no document, model or person steers it."""

import ast
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import SMALL_PARTS, Place
from support.openai_server import FakeOpenAI, Fault
from support.stores import PROCESS_PATH

import raptor_assets.cli
from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.cli.progress import open_build_progress
from raptor_assets.shown.progress import Progress
from raptor_assets.shown.terminal import CleanStream, say, say_json, say_text
from raptor_core.errors import SourceError
from raptor_core.redaction import escape_control_characters

STEERING = {
    "title": "\x1b]0;forged\x07",
    "clipboard": "\x1b]52;c;Zm9yZ2Vk\x1b\\",
    "cursor": "\x1b[5A",
    "screen": "\x1b[2J",
    "hidden": "\x1b[8m",
    "of eight bits": "\x9b5A\x9d0;forged\x9c",
    "overwriting": "\rforged",
    "backwards": "\b\b\bforged",
    "nothing": "\x00\x7f",
    "overrides": "\u202eforged\u202c\u2066\u2069",
    "no width": "\u200b\u2060\ufeff",
    "tags": "\U000e0041",
    "separators": "\u2028\u2029\x85\x0b\x0c",
    "half a character": "\udcff",
}
PLANTED = "".join(value for name, value in STEERING.items() if name != "half a character")
ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\r*\x1b\[(?:2K|1A|\?25[lh])\r*")
"""Colours, and how a progress bar moves."""


def test_what_steers_a_terminal_is_shown_as_an_escape(capsys):
    for steering in STEERING.values():
        text = f"a{steering}b"
        assert escape_control_characters(steering).isprintable()
        say(text, fg="red")
        say_text(text)
        say_json(json.dumps({"a": text}, ensure_ascii=False))
        CleanStream(sys.stdout).write(f"{text}\n".replace(STEERING["hidden"], ""))
        printed = capsys.readouterr().out
        assert ALLOWED.sub("", printed).replace("\n", "").isprintable(), ascii(text)
        assert json.loads(printed.splitlines()[2])["a"] == text


def test_words_of_any_language_are_shown_as_they_are(capsys):
    for text in ("a\tb\nc", "naïve é ü", "می‌خواهم", "👩‍🔬", "עברית", "日本語"):
        say_text(text)
        assert capsys.readouterr().out == f"{text}\n"


def test_a_line_break_in_a_name_makes_no_line(capsys):
    say("tree\nerror: forged")
    say_text("error: of tree\nerror: forged", err=True, indent="       ")
    printed = capsys.readouterr()
    assert printed.out == "tree\\nerror: forged\n"
    assert printed.err == "error: of tree\n       error: forged\n"


def test_no_error_of_ours_steers_the_terminal_or_the_log_that_shows_it():
    assert str(SourceError(f"a{PLANTED}b")).isprintable()


def test_logs_warnings_and_tracebacks_keep_their_colours_alone():
    code = (
        "import logging, sys, warnings\n"
        "from raptor_assets.shown.terminal import install_clean_streams\n"
        "install_clean_streams(); install_clean_streams(); planted = sys.argv[1]\n"
        "logging.warning('%s', planted); warnings.warn(planted)\n"
        "print('\\x1b[31mred\\x1b[0m', file=sys.stderr); raise ValueError(planted)"
    )
    planted = PLANTED.replace("\x00", "").replace(STEERING["hidden"], "")
    done = subprocess.run(
        [sys.executable, "-c", code, planted], capture_output=True, env=ENVIRON, check=False
    )
    printed = done.stderr.decode()
    assert printed.count("forged") >= 3
    assert "\x1b[31mred\x1b[0m\n" in printed
    assert ALLOWED.sub("", printed).replace("\n", "").isprintable()


def test_commands_print_through_the_one_place():
    folder = Path(raptor_assets.cli.__file__).parent
    laboratory = folder.parents[1] / "raptor_lab" / "cli"
    for path in {*folder.rglob("*.py"), *laboratory.rglob("*.py")} - {folder / "terminal.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in {"print", "click.echo", "click.secho", "echo", "secho"}, path


ENVIRON = {
    **os.environ,
    "PYTHONPATH": PROCESS_PATH,
    "HF_HUB_OFFLINE": "1",
    "TERM": "xterm-256color",
    "OPENAI_API_KEY": "key",
    "PYTHONUTF8": "1",
}
CODE = """
import json, sys
from raptor_assets.cli import main
for number, arguments in enumerate(json.loads(open(sys.argv[1]).read())):
    try:
        main(arguments)
    except SystemExit as error:
        print(f"<<{number} {error.code}>>", flush=True)
"""


def on_a_terminal(commands, file, columns=100):
    """What the commands write to their terminal, one after another in one process."""
    file.write_text(json.dumps([[str(word) for word in command] for command in commands]))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", CODE, str(file)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**ENVIRON, "COLUMNS": str(columns)},
    ):
        os.close(theirs)
        os.write(ours, b"n\n")  # to the question whether to remove a tree
        written = bytearray()
        try:
            while block := os.read(ours, 65_536):
                written += block
        except OSError:
            pass  # the other side has closed it
    os.close(ours)
    return written.decode("utf-8").replace("\r\n", "\n")


STORM = "What did the storm break?"
"""Question and text to which the endpoint answers with an error."""
NAME = "a\x1b]0;forged\x07\u202e\x9b5A\rb\nerror: forged line.md"
TEXT = PLANTED.replace("\x00", "")  # a document that holds it is no text, and no argument can


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A home whose documents, models and people write what steers a terminal, and its endpoint."""
    place = Place(tmp_path_factory.mktemp("planted"))
    # A text that holds many controls is taken for binary data.
    lines = [f"The keeper {n} lit the lamp of the rock at dusk and put it out." for n in range(30)]
    lines[::8] = [f"On day {n} the lamp {TEXT} went out." for n in range(4)]
    place.write(NAME, f"# The lamp {TEXT}\n\n## Section {TEXT}\n\n" + "\n\n".join(lines))
    answer = f"The lamp {PLANTED} was lit [1].\nerror: forged line"
    with FakeOpenAI(answer=lambda _: answer) as fake:
        place.call("init", place.docs)
        place.configure(SMALL_PARTS)
        place.configure(f'[summarizer]\nkind = "openai"\nbase_url = "{fake.base_url}"')
        place.configure(f'[reader]\nbase_url = "{fake.base_url}"\nmax_retries = 0')
        built = place.call("build", OPENAI_API_KEY="key")
        assert built.code == 0, built.err
        yield place, fake


def commands_that_succeed(place):
    (tree,) = place.call("status", "--json").json["trees"]
    nodes = place.call("tree", tree["tree"], "--json").json["nodes"]
    note = f"{TEXT}\nerror: forged line"
    yield from (
        ("documents", place.docs),
        ("plan",),
        ("status",),
        ("tree", tree["tree"], "--ids"),
        ("tree", tree["tree"], "--trace", nodes[-1]["id"]),
        ("tree", tree["tree"], "--json"),
        ("query", TEXT),
        ("ask", TEXT),
        ("curate", "set-aside", nodes[0]["id"], "--who", TEXT, "--why", note),
        ("curate", "list"),
        ("export", place.root / f"backup{TEXT}"),
    )


def commands_that_fail(place):
    yield from (
        ("import", place.root / f"none{TEXT}"),
        ("tree", TEXT, "--json"),
        ("query", "x", "--tree", TEXT),
        ("query", "x", "--metadata", TEXT),
        ("query", "x", "--no-such-option", TEXT),
        (TEXT,),
        ("drop", TEXT),
        ("documents", place.docs / f"none{TEXT}"),
        ("ask", f"{STORM} {TEXT}"),
        ("build",),
        ("status",),
        ("drop", NAME),
    )


@pytest.mark.slow
def test_no_command_lets_a_document_a_model_or_a_note_steer_the_terminal(planted):
    place, fake = planted
    answer = Fault.error(400, f"no {PLANTED}\nerror: forged line")
    fake.fail(answer, times=None, when=lambda body: STORM in str(body))
    text = (place.docs / NAME).read_text(encoding="utf-8")
    good, bad = [*commands_that_succeed(place)], [*commands_that_fail(place)]
    place.write("third.md", text.replace("The keeper", f"{STORM} The keeper"))
    given = [(*command, "--home", place.home) for command in (*good, *bad)]
    printed = on_a_terminal(given, place.root / "commands.json")
    assert "Traceback" not in printed
    assert printed.count("<<") == len(given)
    for steering in (STEERING["hidden"], STEERING["title"], STEERING["cursor"]):
        assert steering not in printed
    lines = ALLOWED.sub("", printed).split("\n")
    for line in lines:
        assert line.replace("\t", "").isprintable(), ascii(line)
    n_good = lines.index(f"<<{len(good) - 1} 0>>")
    assert not [line for line in lines[n_good:] if line.startswith("error: forged line")]


@pytest.mark.slow
def test_each_plan_is_counted_from_the_beginning(capsys):
    with open_build_progress(visible=True) as progress:
        for name in ("a.md", "corpus"):
            progress.show_plan([name], [CHAIN_NAMES.tree])
            progress.show_step(Progress("tree", (name,), 1, 0.0))
        progress.show_plan(["a.md", "b.md"], [CHAIN_NAMES.tree])
        progress.show_step(Progress("tree", ("a.md",), 1, 0.0, failed=("b.md",)))
    printed = capsys.readouterr().err
    assert printed.count("1 of 1 partition published") == 2
    assert printed.count("1 of 2 partitions published") == 1
