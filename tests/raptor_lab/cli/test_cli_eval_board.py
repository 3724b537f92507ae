"""`raptor eval board` on small sets in every form of its own, with the hashing embedder."""

import json

import pytest
from support.command import embedder_made_by, raptor
from support.evaluation_sets import LAMP, MILL, SOUP, records, write_lines
from support.hashing import HashingEmbedder


def passages_of_musique():
    """Two questions over three passages; the first needs two of them."""

    def question(text, answer, *supporting):
        texts = {"Mills": MILL, "Lamps": LAMP, "Soup": SOUP}
        paragraphs = [
            {"title": name, "paragraph_text": part, "is_supporting": name in supporting}
            for name, part in texts.items()
        ]
        return {"question": text, "answer": answer, "answer_aliases": [], "paragraphs": paragraphs}

    return [
        question("Who sold a wheel, and who lit the lamp?", "Aud and Agnes", "Mills", "Lamps"),
        question("How long are crabs boiled?", "twelve minutes", "Soup"),
    ]


def passages_of_hotpotqa():
    """The first of these questions in the other form, sentence by sentence."""
    context = [["Mills", MILL.split(". ")], ["Lamps", [LAMP]], ["Soup", [SOUP]]]
    return [
        {
            "question": "Who sold a wheel, and who lit the lamp?",
            "answer": "Aud and Agnes",
            "context": context,
            "supporting_facts": [["Mills", 2], ["Lamps", 0]],
        }
    ]


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    plot = {"question": "Summarize it.", "answers": ["rape oil, snow"], "kind": "general"}
    rows = [{**row, "questions": [*row["questions"], plot]} for row in records()]
    write_lines(folder / "qmsum-val.jsonl", rows)
    (folder / "musique_sample.json").write_text(json.dumps(passages_of_musique()))
    write_lines(folder / "hotpotqa.jsonl", passages_of_hotpotqa())
    page = {"question": "Which oil came first?", "answers": "rape oil", "sources": ["lamp", "soup"]}
    pages = [{"id": name, "text": text} for name, text in (("lamp", LAMP), ("soup", SOUP))]
    write_lines(folder / "wildgraph-light.jsonl", [{**p, "questions": [page]} for p in pages])
    (folder / "notes.txt").write_text("no set")
    return folder


@pytest.fixture
def call(data, tmp_path):
    small = {
        "RAPTOR_COMPONENTS__CLUSTERER": "raptor_lab.clustering:make_contiguous",
        "RAPTOR_CHUNKING__MAX_TOKENS": "24",
    }

    def run(*arguments, folder=data):
        where = ("--home", tmp_path / "home")
        with embedder_made_by(lambda *_: HashingEmbedder()):
            return raptor("eval", "board", folder, *arguments, *where, **small)

    return run


@pytest.mark.slow
def test_every_set_of_a_folder_is_measured_and_the_missing_ones_are_named(call):
    printed = call("--strategy", "hybrid", "--strategy", "flat", "--json")
    assert printed.code == 0, printed.err
    board = printed.json
    missing = ["squality", "qasper", "narrativeqa", "locomo", "financebench", "lines"]
    assert board["missing"] == missing
    assert "locomo: no file in" in printed.err
    assert board["sizes"] == {
        "hotpotqa": [3, 1],
        "musique_sample": [3, 2],
        "qmsum-val": [3, 6],
        "wildgraph-light": [2, 2],
    }
    counts = {
        (row["dataset"], row["measure"]): row["figures"][0]["n_questions"] for row in board["rows"]
    }
    assert counts == {
        ("hotpotqa", "answers"): 1,
        ("hotpotqa", "documents"): 1,
        ("musique_sample", "answers"): 2,
        ("musique_sample", "documents"): 1,
        ("qmsum-val", "answers, general"): 3,
        ("qmsum-val", "evidence"): 2,
        ("wildgraph-light", "answers"): 2,
        ("wildgraph-light", "documents"): 2,
    }
    rows = [row for row in board["rows"] if row["dataset"] == "qmsum-val"]
    assert [row["strategy"] for row in rows] == ["hybrid", "flat"] * 2
    assert [row["figures"][2]["mean"]["value"] for row in rows[:2]] == [1, 1]
    assert rows[0]["figures"][2]["difference"] is None
    assert rows[1]["figures"][2]["difference"]["interval"]["value"] == 0
    first, last = (
        row["figures"][at]["mean"]["value"]
        for row in board["rows"]
        for at in (0, 2)
        if (row["dataset"], row["measure"], row["strategy"]) == ("hotpotqa", "documents", "flat")
    )
    assert first in (0.5, 1)
    assert last == 1
    assert all(row["milliseconds"] > 0 for row in board["rows"])


@pytest.mark.rare
@pytest.mark.slow
def test_the_table_is_markdown_and_trees_are_kept(call):
    ways = ("--sets", "qmsum, hotpotqa", "--limit", "2", "--strategy", "flat")
    printed = call(*ways)
    assert printed.code == 0, printed.err
    assert "1 of 1 trees built" in printed.err
    assert "qmsum-val: 1 documents, 2 questions" in printed.out
    lines = [line for line in printed.out.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {12}
    assert [line.split(" | ")[:2] for line in lines if "---" not in line] == [
        ["| set", "measure"],
        ["| hotpotqa", "answers"],
        ["| qmsum-val", "evidence"],
        ["| qmsum-val", "answers, general"],
        ["| set", "measure"],
        ["| hotpotqa", "documents"],
    ]
    again = call(*ways)
    assert "trees built" not in again.err


@pytest.mark.slow
def test_a_golden_set_is_asked_of_the_folder_beside_it_at_small_budgets(call, data):
    (data / "lines").mkdir()
    (data / "lines" / "mill.md").write_text(MILL)
    (data / "lines" / "soup.txt").write_text(SOUP)
    spans = {
        "How long are crabs boiled?": "two crabs for twelve minutes",
        "Who sold?": "She sold the wheel",
    }
    write_lines(data / "lines.jsonl", [{"question": q, "span": s} for q, s in spans.items()])
    ways = ("--strategy", "hybrid", "--strategy", "flat-in-order", "--budget-tokens")
    printed = call("--sets", "lines", *ways, "9,60,200,20000", "--json")
    assert printed.code == 0, printed.err
    assert printed.json["sizes"] == {"lines": [2, 2]}
    rows = printed.json["rows"]
    assert [row["strategy"] for row in rows] == ["hybrid", "flat-in-order"]
    for row in rows:
        assert [figure["mean"]["value"] for figure in row["figures"]][2:] == [1, 1]
