"""Ids that differ only in case, long ids and ids at the bound, from the source to the window."""

import json
import unicodedata

import pytest
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.workshop import prose

from raptor_core.identity import MAX_ID_BYTES

pytestmark = pytest.mark.slow

LONG = "手" * (MAX_ID_BYTES // 3)
ROWS = [
    "A.md",
    "a.md",
    "caf\u00e9",
    "手" * 40,
    "😀" * (MAX_ID_BYTES // 4),
    LONG,
    "x" * MAX_ID_BYTES,
    "index",
    "con",
]
SAME = "cafe\u0301"  # but for the form of its letters
TOO_LONG = ["手" * (MAX_ID_BYTES // 3 + 1), "z" * 5000]


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A home of documents with such ids, and what the build printed."""
    place = Place(tmp_path_factory.mktemp("named"))
    texts = enumerate([*ROWS, *TOO_LONG, SAME])
    rows = [{"id": row_id, "text": prose(8, seed=seed)} for seed, row_id in texts]
    place.write("rows.jsonl", "\n".join(map(json.dumps, rows)))
    folders = "/".join("d" * 200 for _ in range(6))
    place.write(f"{'/'.join(['資料' * 14] * 3)}/{'手' * 28}.md", prose(8, seed=99))
    place.write(f"{folders}/deep.md", prose(8, seed=98))
    with embedder_made_by(lambda *_: HashingEmbedder()):
        assert place.call("init", place.docs).code == 0
        place.configure("[tree]\nmax_layers = 1")
        printed = place.call("build", "--json")
        assert printed.code == 0, printed
        yield place, printed.json


def test_every_id_up_to_the_bound_is_published_and_at_rest(named):
    place, printed = named
    assert printed["failed"] == {}
    trees = {tree["tree"] for tree in place.call("status", "--json").json["trees"]}
    assert trees == {*ROWS, f"{'/'.join(['資料' * 14] * 3)}/{'手' * 28}.md"}
    with embedder_made_by(lambda *_: HashingEmbedder()):
        again = place.call("build", "--json").json
    assert (again["built"], again["dropped"]) == ([], [])


def test_a_name_is_typed_in_any_form_of_its_letters(named):
    place = named[0]
    assert place.call("tree", SAME, "--json").json["tree"] == unicodedata.normalize("NFC", SAME)
    assert place.call("plan", "--partition", SAME, "--json").code == 0
    assert place.call("plan", "--partition", "nosuch", "--json").code == 4


def test_longer_ids_are_reported_and_not_read(named):
    place, printed = named
    reasons = {item["name"]: item["reason"] for item in printed["skipped"]}
    assert "is taken, by another document" in reasons.pop("rows.jsonl:12")
    assert len(reasons) == 3
    bound = f"{MAX_ID_BYTES:,} are allowed"
    assert all(bound in reason for reason in reasons.values())
    assert "has an id of 5,000 bytes" in reasons["rows.jsonl:11"]
    (path,) = (name for name in reasons if name.endswith("/deep.md"))
    assert len(path) < 100
    listed = place.call("documents", place.docs, "--json").json
    assert {item["name"] for item in listed["skipped"]} == {*reasons, "rows.jsonl:12"}
