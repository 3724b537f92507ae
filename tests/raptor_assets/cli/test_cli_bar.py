"""What a person at a terminal sees of a build: on a pseudo-terminal, in a process of its own."""

import os
import pty
import re
import subprocess
import sys

import pytest
from support.command import JUDGE, Place
from support.openai_server import FakeOpenAI
from support.stores import PROCESS_PATH
from support.workshop import prose

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.cli.progress import build_progress
from raptor_assets.shown.progress import Progress

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

pytestmark = pytest.mark.slow


def on_a_terminal(*arguments):
    """What the command wrote to its terminal, 200 columns wide, without colours."""
    ours, theirs = pty.openpty()
    code = "from raptor_assets.cli import main; main()"
    environ = {**os.environ, "PYTHONPATH": PROCESS_PATH, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environ,
    ) as process:
        os.close(theirs)
        seen = bytearray()
        try:
            while block := os.read(ours, 4096):
                seen += block
        except OSError:
            pass  # the other side has closed it
        assert process.wait() == 0, seen.decode()
    os.close(ours)
    return ESCAPES.sub("", seen.decode())


@pytest.mark.rare
def test_the_bar_moves_while_a_layer_is_built_and_shows_calls_cost_and_time(tmp_path):
    place = Place(tmp_path)
    place.write("a.md", prose(60, seed=1))
    with FakeOpenAI(delay_seconds=0.1) as server:
        place.call("init", place.docs)
        endpoint = f'kind = "openai"\nbase_url = "{server.base_url}"\nconcurrency = 1'
        place.configure(f'[embedder]\n{endpoint}\nmodel = "vectors"\nbatch_size = 3')
        place.configure(f'[summarizer]\n{endpoint}\nmodel = "words"')
        place.configure(JUDGE)
        place.configure('[tokens]\ncounter = "words"')
        place.configure("[chunking]\nmax_tokens = 40")
        place.settings.write_text(
            place.settings.read_text() + '\n[prices."words"]\ninput = 1.0\noutput = 2.0\n'
            '\n[prices."vectors"]\ninput = 1.0\n'
        )
        seen = on_a_terminal("build", "--home", place.home)
    for layer in ("layer_0/embeddings", "layer_1/summaries"):
        shares = re.findall(rf"{layer} of 1 partition; 0 of 1 partition published.*?(\d+)%", seen)
        assert len(set(shares)) > 2, (layer, shares)
        assert sorted(map(int, shares)) == list(map(int, shares))
    assert re.search(r"layer_1/summaries .* \d+ calls, 0\.\d+ USD .* 0:00:\d\d left", seen)
    assert "partitions: 1 built" in seen


def test_each_plan_is_counted_from_the_beginning(capsys):
    with build_progress(visible=True) as progress:
        for name in ("a.md", "corpus"):
            progress.plan([name], [CHAIN_NAMES.tree])
            progress.step(Progress("tree", (name,), 1, 0.0))
        progress.plan(["a.md", "b.md"], [CHAIN_NAMES.tree])
        progress.step(Progress("tree", ("a.md",), 1, 0.0, failed=("b.md",)))
    printed = capsys.readouterr().err
    assert printed.count("1 of 1 partition published") == 2
    assert printed.count("1 of 2 partitions published") == 1
