"""`raptor mcp` speaks the protocol's lines with each supported version of the SDK.

The test has no client of the SDK, so that it runs with the oldest version, too.
"""

import pytest
from support.command import raptor
from support.mcp_lines import exchange


@pytest.mark.slow
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
    looks = {"outline", "browse", "search_within"}
    assert names == {"search", "read_node", "trace", "list_trees", *looks}
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools["tools"])
    assert "nothing is published in" in trees["content"][0]["text"]
    assert wrong["isError"]
    assert "Extra inputs are not permitted" in wrong["content"][0]["text"]
    assert search["isError"]
