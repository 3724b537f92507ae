"""Retrieval in the form of Dify: records with scores from 0 to 1, and conditions as filters."""

import pytest
from fastapi.testclient import TestClient
from support.command import SMALL_PARTS, Place

from raptor_assets.serving.dify import Conditions, to_where
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_core import HomeRetriever
from raptor_core.errors import SettingsError
from raptor_core.store.base import Where

KEY = "a key of the tests"


def conditions(*given, operator="and"):
    rows = [
        {"name": name, "comparison_operator": op, **({} if value is None else {"value": value})}
        for name, op, value in given
    ]
    return Conditions(logical_operator=operator, conditions=rows)


def kept(**metadata):
    return Where(metadata=metadata)


def left_out(**metadata):
    return Where(exclude=Where(metadata=metadata))


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ([("a", "is", "x")], kept(a=["x"])),
        ([(["a"], "=", 5)], kept(a=[5])),
        ([("a", "in", ["x", "y"])], kept(a=["x", "y"])),
        ([("a", "in", "x, y")], kept(a=["x", "y"])),
        ([("a", "is not", "x"), ("a", "≠", "y")], left_out(a=["x", "y"])),
        ([("a", "not in", ["x", "y"])], left_out(a=["x", "y"])),
        ([("a", ">", 1), ("a", "≤", 5)], kept(a={"gt": 1, "lte": 5})),
        ([("a", "≥", 1), ("b", "<", 5)], kept(a={"gte": 1}, b={"lt": 5})),
        ([("a", "after", "2024-01-01")], kept(a={"gt": "2024-01-01"})),
        ([("a", "before", "2024-01-01")], kept(a={"lt": "2024-01-01"})),
        ([("a", "empty", None)], left_out(a={})),
        ([("a", "not empty", None)], kept(a={})),
        ([], Where()),
    ],
)
def test_conditions_on_metadata_become_filters(given, where):
    assert to_where(conditions(*given)) == where


def test_alternatives_of_one_key_are_its_values():
    given = conditions(("a", "is", "x"), ("a", "in", ["y", "z"]), operator="or")
    assert to_where(given) == kept(a=["x", "y", "z"])
    assert to_where(conditions(("a", ">", 1), operator="or")) == kept(a={"gt": 1})
    assert to_where(Conditions()) == to_where(None) == Where()


@pytest.mark.parametrize(
    ("given", "operator", "words"),
    [
        ([("a", "contains", "x")], "and", "'contains' is not supported"),
        ([("a", "start with", "x")], "and", "supported are: "),
        ([("a", "is", "x"), ("a", "is", "y")], "and", "operator in"),
        ([("a", "is", "x"), ("a", ">", 1)], "and", "cannot be combined"),
        ([("a", ">", 1), ("a", ">", 2)], "and", "cannot be combined"),
        ([("a", "is", None)], "and", "needs one value"),
        ([("a", ">", ["x"])], "and", "needs one value"),
        ([("a", "is", "x"), ("b", "is", "y")], "or", "on one key"),
        ([("a", "is", "x"), ("a", "is not", "y")], "or", "on one key"),
    ],
)
def test_conditions_that_no_filter_says_are_refused_with_the_remedy(given, operator, words):
    with pytest.raises(SettingsError, match=words):
        to_where(conditions(*given, operator=operator))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("dify"))
    for year, name in enumerate(("pump", "oven", "lamp"), 2022):
        front = f"---\ntitle: The {name}\nyear: {year}\n---\n"
        place.write(f"{name}.md", f"{front}Ana repaired the {name}.\n\nIt was sand, in {year}.")
    place.home.mkdir(parents=True)
    place.settings.write_text(
        f'[source]\npaths = ["{place.docs}"]\nlink = "https://wiki/{{id}}"\n{SMALL_PARTS}\n'
    )
    assert place.call("build").code == 0
    app = make_app(HomeRetriever(place.home), ServerKeys(KEY))
    return TestClient(app, headers={"Authorization": f"Bearer {KEY}"})


def retrieve(client, **more):
    body = {
        "knowledge_id": "corpus",
        "query": "Who repaired the oven?",
        "retrieval_setting": {"top_k": 2, "score_threshold": 0.0},
        **more,
    }
    return client.post("/retrieval", json=body)


@pytest.mark.slow
def test_records_have_text_title_origin_and_a_score_from_0_to_1(client):
    records = retrieve(client).json()["records"]
    scores = [record["score"] for record in records]
    assert len(records) == 2
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1
    assert all(0 <= score <= 1 for score in scores)
    best = records[0]
    assert "oven" in best["content"]
    assert best["title"] == "The oven"
    assert best["metadata"]["documents"] == ["oven.md"]
    assert best["metadata"]["link"] == "https://wiki/oven.md"
    setting = {"top_k": 10, "score_threshold": scores[1] + 1e-6}
    assert len(retrieve(client, retrieval_setting=setting).json()["records"]) == 1


@pytest.mark.slow
def test_conditions_narrow_the_records(client):
    given = {"conditions": [{"name": "year", "comparison_operator": "≥", "value": 2023}]}
    found = retrieve(client, metadata_condition=given).json()["records"]
    assert {record["metadata"]["metadata"]["year"] for record in found} <= {2023, 2024}
    assert found
    nothing = {"conditions": [{"name": "year", "comparison_operator": "is", "value": 1999}]}
    assert retrieve(client, metadata_condition=nothing).json() == {"records": []}
    assert retrieve(client, metadata_condition=None).json()["records"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"knowledge_id": "other"}, 404, 2001),
        ({"query": ""}, 422, 422),
        ({"retrieval_setting": {"top_k": 0}}, 422, 422),
        (
            {
                "metadata_condition": {
                    "conditions": [{"name": "a", "comparison_operator": "contains", "value": "x"}]
                }
            },
            422,
            422,
        ),
    ],
)
def test_errors_have_the_form_of_dify(client, body, status, code):
    refused = retrieve(client, **body)
    assert (refused.status_code, refused.json()["error_code"]) == (status, code)
    assert refused.json()["error_msg"]


@pytest.mark.slow
def test_a_wrong_key_has_the_form_of_dify(client):
    refused = client.post("/retrieval", headers={"Authorization": "Bearer wrong"})
    assert (refused.status_code, refused.json()["error_code"]) == (401, 1002)
