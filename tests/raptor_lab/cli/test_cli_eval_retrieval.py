"""`raptor eval retrieval` on small data sets, with the hashing embedder."""

import pytest
from support.command import embedder_made_by, raptor
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder


@pytest.fixture
def call(tmp_path):
    small = {
        "RAPTOR_COMPONENTS__CLUSTERER": "raptor_lab.clustering:make_contiguous",
        "RAPTOR_CHUNKING__MAX_TOKENS": "24",
    }

    def run(file, *arguments):
        where = ("--home", tmp_path / "home")
        with embedder_made_by(lambda *_: HashingEmbedder()):
            return raptor("eval", "retrieval", file, *arguments, *where, **small)

    return run


@pytest.mark.slow
def test_the_comparison_as_json_and_as_a_table(call, tmp_path):
    file = write_lines(tmp_path / "village.jsonl", records())
    ways = ("--strategy", "collapsed@0", "--strategy", "collapsed")
    printed = call(file, *ways, "--budget-tokens", "30, 900", "--json", "--questions")
    assert printed.code == 0, printed.err
    found = printed.json
    lines = [(line["system"], line["budget_tokens"]) for line in found["lines"]]
    assert lines == [(w, b) for b in (30, 900) for w in ("collapsed@0", "collapsed")]
    assert found["lines"][3]["figures"]["evidence_recall"]["mean"]["value"] == 1
    assert len(found["questions"]) == 12
    assert "trees built" in printed.err
    table = call(file, *ways, "--pooled")
    assert table.code == 0
    assert "trees built" not in table.err
    assert "village: evidence recall" in table.out
    assert "village: document hit" in table.out
    assert "1.000 [1.000, 1.000]" in table.out
    assert "3 trees, nodes by layer 0: " in table.out
    assert found["trees"]["n_trees"] == 3
