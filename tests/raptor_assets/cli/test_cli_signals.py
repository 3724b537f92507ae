"""SIGTERM ends a command in a process of its own, whatever signals its parent had ignored."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command import Place
from support.openai_faults import Fault
from support.openai_server import FakeOpenAI
from support.ports import free_port
from support.processes import kill_group, wait_until
from support.stores import PROCESS_PATH

pytestmark = [pytest.mark.rare, pytest.mark.timeout(600)]

COMMAND = [sys.executable, "-c", "from raptor_assets.cli import main; main()"]
SCRIPT = ["sh", "-c", 'trap "" INT HUP; exec "$@"', "script"]
"""Starts a command with SIGINT and SIGHUP ignored, as `nohup raptor ... &` in a script does."""

END_SECONDS = 100


@contextmanager
def in_background(log, *arguments, **environ):
    """A process of the command that a script started."""
    with (
        log.open("w") as file,
        subprocess.Popen(
            [*SCRIPT, *COMMAND, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": PROCESS_PATH, "HF_HUB_OFFLINE": "1", **environ},
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            kill_group(process)


def is_caught(process):
    """Whether the process handles SIGTERM, as the first process of a container must."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def group_of(process):
    """Commands of the processes in the group of a process that have not ended."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [row[2] for row in rows if int(row[0]) == process.pid and not row[1].startswith("Z")]


def wait_for_group(process, log):
    """Wait until every process of the group has ended."""
    wait_until(lambda: not group_of(process), [log])


def is_reachable(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("command", ["serve", "mcp", "ui"])
def test_sigterm_ends_a_server_that_a_script_started_with_its_children(built, tmp_path, command):
    log, port = tmp_path / "log", free_port()
    with in_background(log, command, "--port", port, "--home", built.home) as process:
        wait_until(lambda: is_reachable(port), [log], needed=[process])
        assert is_caught(process)
        process.terminate()
        assert process.wait(END_SECONDS) in ((0, 130) if command == "ui" else (0,))
        assert "build" not in log.read_text()
        wait_for_group(process, log)


def test_sigterm_ends_a_server_of_standard_input(built, tmp_path):
    log = tmp_path / "log"
    with in_background(log, "mcp", "--home", built.home) as process:
        wait_until(lambda: is_caught(process), [log], needed=[process])
        process.terminate()
        assert process.wait(END_SECONDS) == 130
        assert "build" not in log.read_text()
        wait_for_group(process, log)


def test_sigterm_ends_a_build_that_waits_for_an_endpoint_and_keeps_what_is_finished(tmp_path):
    place, log = Place(tmp_path), tmp_path / "log"
    for number in range(2):
        text = "\n\n".join(f"Page {number} tells of the keeper's lamp {k}." for k in range(40))
        place.write(f"{number}.md", text)
    assert place.call("init", place.docs).code == 0
    place.configure("[chunking]\nmax_tokens = 20")
    with FakeOpenAI() as fake:
        lines = f'kind = "openai"\nbase_url = "{fake.base_url}"\nmodel = "m"\nconcurrency = 1'
        place.configure(f"[summarizer]\n{lines}")
        fake.fail(Fault(seconds=500), times=None, when=lambda _body: fake.n_requests > 2)
        key = {"OPENAI_API_KEY": "sk-x"}
        with in_background(log, "build", "--home", place.home, **key) as process:
            wait_until(lambda: fake.n_requests > 2, [log], needed=[process])
            process.terminate()
            assert process.wait(END_SECONDS) == 130
        assert "interrupted" in log.read_text()
        asked = [str(body) for body in fake.bodies]
        fake.stop_failing()
        built = place.call("build", "--json", **key)
        assert built.json["built"] == ["0.md", "1.md"]
        again = [str(body) for body in fake.bodies[len(asked) :]]
        assert set(asked) & set(again) == {asked[-1]}
