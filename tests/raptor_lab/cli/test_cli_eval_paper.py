"""`raptor eval paper` on small data sets, with the hashing embedder."""

import json
from xml.etree import ElementTree as ET

import pytest
from support.command import embedder_made_by, raptor
from support.evaluation_sets import qasper, records, write_lines
from support.hashing import HashingEmbedder
from support.tiny_models import build_tiny_dpr

SPREAD = {"collapsed", "collapsed-lexical", "collapsed-dpr", "traversal", "hybrid"}


@pytest.fixture
def call(tmp_path):
    small = {
        "RAPTOR_COMPONENTS__CLUSTERER": "raptor_lab.clustering:make_gmm",
        "RAPTOR_CHUNKING__MAX_TOKENS": "24",
    }

    def run(*arguments, **environ):
        where = ("--home", tmp_path / "home", "--budget-tokens", "40,400")
        with embedder_made_by(lambda *_: HashingEmbedder()):
            return raptor("eval", "paper", *arguments, *where, **{**small, **environ})

    return run


@pytest.fixture
def village(tmp_path):
    return write_lines(tmp_path / "village.jsonl", records())


def rows(page, title):
    """Cells of the first table under a title."""
    lines = page.partition(f"## {title}\n")[2].splitlines()
    end = next((at for at, line in enumerate(lines) if line.startswith("## ")), len(lines))
    table = [line for line in lines[:end] if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.rare
@pytest.mark.slow
def test_every_table_is_written_beside_the_papers(call, village, tmp_path):
    papers = tmp_path / "papers.json"
    papers.write_text(json.dumps(qasper()))
    encoders = [
        build_tiny_dpr(tmp_path / name, name)
        for name in ("DPRQuestionEncoder", "DPRContextEncoder")
    ]
    printed = call(tmp_path / "out", village, papers, "--json", "--dpr", *encoders)
    assert printed.code == 0, printed.err
    assert set(printed.json["files"]) == {path.name for path in (tmp_path / "out").iterdir()}
    pages = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert_retrievers(pages)
    assert_layers(pages)
    assert_curve(pages)
    assert_shares(pages)
    assert_compression(pages)
    assert_scaling(pages)
    assert_left_out(pages)


def assert_curve(pages):
    curve = rows(pages["curve.md"], "qasper: evidence recall by length of the context")[2:]
    bounds = [(line[0], line[1]) for line in curve]
    assert ("collapsed", "2,000 tokens") in bounds
    assert ("traversal", "5 nodes of a layer") in bounds
    walked = [float(line[2].replace(",", "")) for line in curve if line[0] == "traversal"]
    assert walked == sorted(walked)
    labels = [e.text for e in ET.fromstring(pages["curve-2.svg"]).iter() if e.text]
    assert {"qasper: evidence recall", "collapsed", "traversal"} <= set(labels)


def assert_retrievers(pages):
    head, _, *lines = rows(pages["retrievers.md"], "qasper: evidence recall")
    assert head[:4] == ["strategy", "what it is", "tree", "40 tokens"]
    assert [(line[0], line[2]) for line in lines] == [
        ("flat", "no"),
        ("lexical", "no"),
        ("document", "no"),
        ("title-abstract", "no"),
        ("collapsed", "yes"),
        ("collapsed-lexical", "yes"),
        ("traversal", "yes"),
        ("hybrid", "yes"),
        ("root", "yes"),
        ("dpr", "no"),
        ("collapsed-dpr", "yes"),
        ("collapsed, contiguous tree", "contiguous"),
        ("hybrid, contiguous tree", "contiguous"),
    ]
    assert lines[0][5] == "1.000 [1.000, 1.000]"
    assert lines[0][6] == ""
    assert lines[3][4].startswith(("+", "-"))
    assert ["RAPTOR", "53.1", "55.7", "36.6"] in rows(
        pages["retrievers.md"], "Paper, Table 3: QASPER F1 by reader"
    )
    assert pages["retrievers.md"].count("Paper, Table 2") == 1
    kinds = rows(pages["retrievers.md"], "qasper: evidence recall by kind, at 400 tokens")
    assert kinds[0] == ["strategy", "abstractive (1)", "boolean (1)", "extractive (2)"]
    assert kinds[2][:2] == ["flat", "1.000"]
    assert "title-abstract" not in "".join(
        line[0] for line in rows(pages["retrievers.md"], "village: evidence recall")
    )


def assert_layers(pages):
    subsets = rows(pages["layers.md"], "village: evidence recall at 400 tokens")
    assert subsets[0][:3] == ["layers queried", "start layer 0", "start layer 1"]
    assert subsets[2][1] == "1.000 [1.000, 1.000]"
    assert subsets[3][:2] == ["2", ""]
    alone = rows(pages["layers.md"], "qasper, On mills: 2 questions at 400 tokens")
    assert alone[2][:2] == ["1", "1.000"]
    assert ["3", "", "", "73.68"] in rows(pages["layers.md"], "Paper, Table 8: QuALITY, story 1")


def assert_shares(pages):
    picture = ET.fromstring(pages["shares-1.svg"])
    assert "village: collapsed, 400 tokens" in [e.text for e in picture.iter()]
    shares = rows(pages["shares.md"], "village: nodes of a context by layer, in percent")
    assert {line[0] for line in shares[2:]} == SPREAD
    for line in shares[2:]:
        *layers, above = map(float, line[2:])
        assert sum(layers) == pytest.approx(100, abs=0.3)
        assert above == pytest.approx(100 - layers[0], abs=0.11)


def assert_compression(pages):
    sizes = rows(pages["compression.md"], "Compression of the trees")
    assert [line[0] for line in sizes[2:]] == [
        "village",
        "village, contiguous",
        "qasper",
        "qasper, contiguous",
        "all together",
    ]
    trees = [line[1] for line in sizes[2:]]
    assert int(trees[-1]) == int(trees[0]) + int(trees[2])
    assert ["all three", "131", "85.6", "6.7", "0.28"] in rows(
        pages["compression.md"], "Paper, Table 10"
    )


def assert_scaling(pages):
    lines = rows(pages["scaling.md"], "Straight lines")[2:]
    measured = ["prompt tokens", "completion tokens", "all tokens", "seconds"]
    assert [(line[0], line[1]) for line in lines] == [
        (name, what) for name in ("village", "qasper") for what in measured
    ]
    points = rows(pages["scaling.md"], "village: tokens of a build (Figure 5)")[2:]
    assert len(points) == 3
    for line in points:
        _, _, prompt, completion, together = (int(cell.replace(",", "")) for cell in line)
        assert together == pytest.approx(prompt + completion, abs=1)
    assert len(rows(pages["scaling.md"], "qasper: seconds of a build (Figure 6)")) > 3
    assert "![Tokens and time by length of the document](scaling-1.svg)" in pages["scaling.md"]
    picture = ET.fromstring(pages["scaling-1.svg"])
    labels = [element.text for element in picture.iter() if element.text]
    assert {"village: thousand tokens of calls", "prompts", "village: seconds"} <= set(labels)


def assert_left_out(pages):
    assert "need a reader" in pages["README.md"]
    assert "not comparable" in pages["README.md"]
    assert [found["dataset"] for found in json.loads(pages["figures.json"])] == [
        "village",
        "qasper",
    ]
