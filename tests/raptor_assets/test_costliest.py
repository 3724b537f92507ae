"""What is shown of costs: the costliest first, and nothing that means nothing."""

from types import SimpleNamespace

import pytest
from support.hashing import HashingEmbedder
from support.report_cases import leaf, summary

from raptor_assets.cost_metadata import paid_metadata
from raptor_assets.costs import add_usages, keep_usages, node_usages, read_usages
from raptor_assets.metadata import embeddings_metadata
from raptor_core.models.money.usage import Usage
from raptor_core.settings import Settings
from raptor_core.tables.files import TableStore

PAID = Settings.model_validate({"summarizer": {"kind": "openai", "model": "writer"}})
LEAVES = [leaf("l0", "One.", 0), leaf("l1", "Two.", 6)]


def nodes(n):
    return {"t": [summary(f"s{at}", f"Text {at}.", 1, LEAVES) for at in range(n)]}


def rows(found):
    return [line.split(" | ") for line in found["costliest_summaries"].value.splitlines()[2:]]


def test_the_costliest_come_first_by_money_then_by_tokens_and_are_few():
    paid = {f"s{at}": Usage(1, 100 + at, 10, 0, 0.001 * (at % 5)) for at in range(20)}
    found = paid_metadata(nodes(20), paid, PAID)
    shown = rows(found)
    assert [row[4] for row in shown[:5]] == ["119", "114", "109", "104", "118"]
    assert len(shown) == 8
    assert found["paid_tokens_maximum"] == 129
    assert found["paid_tokens_mean"] == pytest.approx(119.5)
    assert found["calls"] == 20


def test_money_is_left_out_where_no_price_is_set_and_unknown_where_one_is_missing():
    unpriced = paid_metadata(nodes(1), {"s0": Usage(2, 5, 3, 1, None)}, PAID)
    assert "USD" not in unpriced["costliest_summaries"].value
    assert "usd" not in unpriced
    paid = {"s0": Usage(1, 5, 3, 0, None), "s1": Usage(1, 5, 3, 0, 0.5)}
    mixed = rows(paid_metadata(nodes(2), paid, PAID))
    assert [row[-1] for row in mixed] == ["0.5 |", "unknown |"]


def test_nothing_is_shown_of_what_called_no_endpoint_but_its_judge():
    paid = {"s0": Usage(1, 50, 10)}
    assert paid_metadata(nodes(1), paid, Settings()) == {}
    assert paid_metadata(nodes(1), {}, PAID) == {}


def test_of_nodes_with_one_text_the_first_has_its_cost():
    first, second = (summary("s0", "Text.", 1, LEAVES, tree) for tree in ("t", "u"))
    assert node_usages([first, second], {"s0": Usage(1)}) == {first.id: Usage(1)}


def test_attempts_add_up_and_what_is_kept_is_what_is_wanted(tmp_path):
    tables = TableStore(str(tmp_path))
    add_usages(tables, "p", 1, {})
    assert list(tmp_path.rglob("*.parquet")) == []
    add_usages(tables, "p", 1, {"a": Usage(0, 9, 0, 2, 0.25), "b": Usage(1, 5, 5, 0, 0.5)})
    add_usages(tables, "p", 1, {"a": Usage(1, 9, 4, 0, None)})
    assert read_usages(tables, "p", [1, 2]) == {
        "a": Usage(1, 18, 4, 2, None),
        "b": Usage(1, 5, 5, 0, 0.5),
    }
    keep_usages(tables, "p", 1, {"b", "c", "d"}, {"b": Usage(7), "c": Usage(2), "e": Usage(3)})
    assert read_usages(tables, "p", [1]) == {"b": Usage(1, 5, 5, 0, 0.5), "c": Usage(2)}
    keep_usages(tables, "p", 1, set(), {})
    assert list(tmp_path.rglob("*.parquet")) == []


def test_embeddings_say_what_an_endpoint_took_for_them():
    components = SimpleNamespace(embedder=HashingEmbedder())
    found = embeddings_metadata(LEAVES, set(), components, Usage(1, 40, 0, 1, 0.002))
    assert (found["calls"], found["prompt_tokens"], found["usd"]) == (1, 40, 0.002)
    assert "calls" not in embeddings_metadata(LEAVES, set(), components, Usage())
