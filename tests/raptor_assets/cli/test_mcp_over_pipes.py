"""`raptor mcp` speaks the protocol's lines with each supported version of the SDK.

The test has no client of the SDK, so that it runs with the oldest version, too.
"""

import json
import os
import subprocess
import sys

from support.command import raptor
from support.stores import PROCESS_PATH

HELLO = {
    "protocolVersion": "2025-03-26",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def exchange(home, *calls):
    """Return the answers of the server to ``(method, params)``, in their order."""
    lines = [
        {"id": number, "method": method, "params": params}
        for number, (method, params) in enumerate([("initialize", HELLO), *calls])
    ]
    lines.insert(1, {"method": "notifications/initialized"})
    command = [sys.executable, "-c", "from raptor_assets.cli import main; main()"]
    environ = {**os.environ, "PYTHONPATH": PROCESS_PATH, "HF_HUB_OFFLINE": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    answers = {}
    command += ["mcp", "--home", str(home)]
    with subprocess.Popen(command, env=environ, text=True, **pipes) as server:
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}) + "\n")
            server.stdin.flush()
            if "id" in line:
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = answer["result"]
        server.stdin.close()
    return [answers[number] for number in range(len(calls) + 1)]


def test_tools_answer_and_refuse_unknown_parameters(tmp_path):
    call, home = "tools/call", tmp_path / "home"
    assert raptor("init", "--home", home).code == 0
    hello, tools, trees, wrong, search = exchange(
        home,
        ("tools/list", {}),
        (call, {"name": "list_trees", "arguments": {}}),
        (call, {"name": "list_trees", "arguments": {"tree": "a"}}),
        (call, {"name": "search", "arguments": {"question": "q", "strategy": "nosuch"}}),
    )
    assert hello["serverInfo"]["name"] == "raptor"
    assert "layer 0" in hello["instructions"]
    names = {tool["name"] for tool in tools["tools"]}
    looks = {"outline", "browse", "search_within", "compare"}
    assert names == {"search", "read_node", "trace", "list_trees", *looks}
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools["tools"])
    assert "nothing is published in" in trees["content"][0]["text"]
    assert wrong["isError"]
    assert "tree" in wrong["content"][0]["text"]
    assert search["isError"]
