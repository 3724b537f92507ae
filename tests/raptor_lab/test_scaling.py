"""What builds take by length of the document: points, lines and tables."""

from dataclasses import replace

import pytest
from support.evaluation_sets import records, write_lines
from support.hashing import HashingEmbedder

from raptor_core.documents.base import Document
from raptor_core.models.summarizing.prompts import prompt_of
from raptor_core.settings import Settings
from raptor_core.tree.components import Components
from raptor_lab.comparison.index import open_index
from raptor_lab.comparison.measures import ContextMeasurer
from raptor_lab.datasets.load import load_dataset
from raptor_lab.paper.study import (
    MAX_TOKENS,
    N_PREFIXES,
    TimePoint,
    TokenPoint,
    fit_slope,
    measure_study,
    time_builds,
    token_points,
)
from raptor_lab.paper.tables import scaling_tables

SETTINGS = {
    "chunking": {"max_tokens": 24},
    "clustering": {"method": "contiguous", "cluster_size": 2},
}


@pytest.fixture(scope="module")
def components():
    return Components(Settings.model_validate(SETTINGS), embedder=HashingEmbedder())


@pytest.fixture(scope="module")
def study(components, tmp_path_factory):
    folder = tmp_path_factory.mktemp("village")
    dataset = load_dataset(write_lines(folder / "village.jsonl", records()))
    with open_index(dataset, components, folder) as index:
        return measure_study(index, [400], ContextMeasurer.of(index.dataset, pooled=False))


def test_tokens_are_those_of_the_prompts_and_answers_of_each_tree(components, tmp_path):
    dataset = load_dataset(write_lines(tmp_path / "village.jsonl", records()))
    with open_index(dataset, components, tmp_path) as index:
        points = token_points(index)
        nodes = {node.id: node for node in index.store.nodes()}
    assert [p.document_tokens for p in points] == sorted(p.document_tokens for p in points)
    assert sum(p.document_tokens for p in points) == sum(
        node.n_tokens for node in nodes.values() if node.is_leaf
    )
    summaries = [node for node in nodes.values() if not node.is_leaf]
    assert sum(p.completion_tokens for p in points) == sum(node.n_tokens for node in summaries)
    given = components.settings.summarizer
    asked = [
        prompt_of(given).system
        + prompt_of(given).question([nodes[c].text for c in node.children], given.max_tokens)
        for node in summaries
    ]
    told = sum(p.prompt_tokens for p in points)
    assert told == pytest.approx(sum(components.counter.count(asked)), rel=0.2)


def test_prefixes_of_the_longest_document_are_built_in_equal_steps(components):
    words = " ".join(f"word{number}." for number in range(60))
    told = []
    points = time_builds([Document("a", "Short."), Document("b", words)], components, told.append)
    assert told == [point.document_tokens for point in points]
    assert len(points) == N_PREFIXES
    assert told[-1] == components.counter.count([words])[0] <= MAX_TOKENS
    assert told[0] == pytest.approx(told[-1] / N_PREFIXES, abs=1)
    assert all(point.seconds > 0 for point in points)
    assert [p.document_tokens for p in time_builds([Document("c", "One")], components)] == [1]


def test_the_line_is_that_of_least_squares():
    line = fit_slope([1000, 2000, 3000], [7.0, 9.0, 11.0])
    assert (line.per_thousand, line.r_squared) == pytest.approx((2, 1))
    bent = fit_slope([0, 1000, 2000], [0.0, 3.0, 0.0])
    assert (bent.per_thousand, bent.r_squared) == pytest.approx((0, 0))
    assert fit_slope([5, 9], [1.0, 1.0]).r_squared == 1
    assert fit_slope([5, 5], [1.0, 2.0]) is None
    assert fit_slope([], []) is None


@pytest.mark.slow
def test_the_tables_hold_the_lines_and_the_points(study):
    points = tuple(TokenPoint(1000 * n, 1500 * n, 300 * n) for n in range(1, 31))
    times = (TimePoint(1000, 0.5), TimePoint(2000, 1.0))
    lines, tokens, seconds = scaling_tables([replace(study, tokens=points, times=times)])
    assert lines.rows == (
        ("village", "prompt tokens", "30", "1,500", "1.000"),
        ("village", "completion tokens", "30", "300", "1.000"),
        ("village", "all tokens", "30", "1,800", "1.000"),
        ("village", "seconds", "2", "0.500", "1.000"),
    )
    assert sum(int(row[0]) for row in tokens.rows) == 30
    assert len(tokens.rows) == 12
    assert tokens.rows[0] == ("3", "2,000", "3,000", "600", "3,600")
    assert seconds.rows[1] == ("2,000", "1.00", "0.500")
