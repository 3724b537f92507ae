"""The study by hand: `raptor eval sheet` and `raptor eval verdicts`."""

import csv
import json

import pytest
from support.command import raptor
from support.evaluation_sets import write_lines
from support.openai_server import FakeOpenAI

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(built, tmp_path):
    """A sheet of six sentences or more, over the home that is built once."""
    printed = built.call("eval", "sheet", tmp_path / "study", "--nodes", "3", "--json")
    assert printed.code == 0, printed
    return tmp_path / "study"


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(folder, change=lambda _: None, divider=","):
    """All supported but the first sentence, which is added; ``change`` may change the rows."""
    rows = rows_of(folder / "sheet.csv")
    for at, row in enumerate(rows):
        row["verdict"] = "supported" if at else "Added"
    change(rows)
    with (folder / "sheet.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=divider)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_the_same_seed_draws_the_same_nodes_of_so_many_trees(built, folder, tmp_path):
    drawn = [rows_of(folder / "sheet.csv")]
    for name, seed in (("again", 0), ("other", 5)):
        built.call("eval", "sheet", tmp_path / name, "--nodes", "3", "--seed", seed)
        drawn.append(rows_of(tmp_path / name / "sheet.csv"))
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({row["node"] for row in drawn[0]}) == 3
    one = built.call("eval", "sheet", tmp_path / "one", "--trees", "1", "--json").json
    assert one["trees"] == len({row["tree"] for row in rows_of(tmp_path / "one" / "sheet.csv")})
    assert one["nodes"] == one["population"]


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_the_figures_summarize_the_verdicts(folder, divider):
    fill(folder, divider=divider)
    printed = raptor("eval", "verdicts", folder, "--json")
    assert printed.code == 0, printed
    found = printed.json
    assert (found["n_nodes"], found["n_hallucinating"]) == (3, 1)
    assert found["low"] < found["share"] < found["high"]
    assert found["kinds"] == {"added": 1, "extrapolated": 0, "contradicted": 0}
    assert [f["judgement"] for f in found["findings"]].count("unsupported") == 1
    printed = raptor("eval", "verdicts", folder)
    assert "1 of 3 nodes contain a hallucination: 33.3%" in printed.out


def test_a_lie_with_a_number_is_followed_into_the_parent(folder):
    path = folder / "drawn.json"
    drawn = json.loads(path.read_text())
    lie = "It had cost 4711 pounds."
    drawn["nodes"][0]["sentences"][0] = lie
    drawn["nodes"][0]["parents"] = [{"id": "p", "text": f"Much is known. {lie}"}]
    path.write_text(json.dumps(drawn))
    fill(folder, lambda rows: rows[0].update(sentence=lie))
    found = raptor("eval", "verdicts", folder, "--json").json
    assert (found["n_traceable"], found["n_repeated"]) == (1, 1)
    assert found["findings"][0]["missing"] == ["4711"]


def test_a_sheet_in_part_is_read_where_that_is_asked(folder):
    fill(folder, lambda rows: [row.update(verdict="") for row in rows[1:]])
    found = raptor("eval", "verdicts", folder, "--partly", "--json").json
    assert (found["n_nodes"], len(found["findings"])) == (1, 1)


def test_contexts_and_answers_are_compared_with_and_without_the_wrong_nodes(built, folder):
    """All nodes of the sample are judged wrong; the reader answers where it sees the first."""
    fill(folder, lambda rows: [row.update(verdict="added") for row in rows])
    node = json.loads((folder / "drawn.json").read_text())["nodes"][0]
    case = {"question": node["text"], "span": node["text"], "tree": node["tree"], "answer": "lamp"}
    questions = write_lines(folder / "questions.jsonl", [case])
    verdicts = ("eval", "verdicts", folder, "--questions", questions)

    def answer(body):
        context = body["messages"][-1]["content"].partition("</context>")[0]
        return "lamp" if node["text"] in context else "none"

    with FakeOpenAI(answer=answer) as server:
        values = {
            "RAPTOR_RETRIEVAL__STRATEGY": "collapsed",
            "RAPTOR_READER__BASE_URL": server.base_url,
        }
        read = built.call(*verdicts, "--reader", "chat:small", "--json", **values)
        assert read.code == 0, read.err
        table = built.call(*verdicts, **values)
        assert server.n_requests == 2
    lines = read.json["effect"]["lines"]
    assert [line["system"] for line in lines] == ["all nodes", "without them"]
    assert [line["figures"]["answer_f1"]["mean"]["value"] for line in lines] == [1, 0]
    assert "study: evidence recall" in table.out
