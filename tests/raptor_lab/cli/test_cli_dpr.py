"""DPR, with encoders of the tests, in `raptor query` and `raptor report`."""

from xml.etree import ElementTree as ET

import pytest
from support.tiny_models import build_tiny_model

pytestmark = pytest.mark.slow

QUESTION = "Who kept the lamp burning?"


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    model = build_tiny_model(tmp_path_factory.mktemp("encoder"))
    return ("--dpr", model, model)


def test_dpr_retrieves_beside_other_strategies_and_is_drawn(built, encoders, tmp_path):
    svg = tmp_path / "tree.svg"
    ways = ("--strategy", "collapsed", "--beside", "dpr", "--beside", "collapsed-dpr")
    printed = built.call("query", QUESTION, *ways, *encoders, "--top-k", 3, "--svg", svg, "--json")
    assert printed.code == 0, printed.err
    dpr, collapsed = printed.json["beside"]
    assert (dpr["strategy"], collapsed["strategy"]) == ("dpr", "collapsed-dpr")
    assert [node["layer"] for node in dpr["nodes"]] == [0, 0, 0]
    scores = [node["score"] for node in dpr["nodes"]]
    assert scores == sorted(scores, reverse=True)
    told = [element.text for element in ET.fromstring(svg.read_text()).iter()]
    assert "dpr: 3 of layer 0" in told
    every = ("--strategy", "collapsed-dpr", "--budget-tokens", 5000, "--tree", "soup.md")
    nodes = built.call("query", QUESTION, *every, *encoders, "--json").json["nodes"]
    assert {node["tree"] for node in nodes} == {"soup.md"}
    assert {node["layer"] for node in nodes} >= {0, 1}


def test_dpr_without_encoders_and_a_filter_without_nodes_are_explained(built, encoders):
    refused = built.call("query", QUESTION, "--strategy", "dpr", "--json")
    assert (refused.code, refused.json["error"]) == (3, "SettingsError")
    assert "--dpr QUESTION_MODEL PASSAGE_MODEL" in refused.json["message"]
    filtered = ("--layer", 1, *encoders)
    assert "chunks only" in built.call("query", QUESTION, "--strategy", "dpr", *filtered).err
    nothing = built.call("query", QUESTION, "--strategy", "dpr", *encoders, "--document", "none.md")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no node matches --document none.md" in nothing.err
