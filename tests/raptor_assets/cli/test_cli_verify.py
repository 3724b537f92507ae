"""`raptor verify --gone`: canaries after a deletion, and copies that were put in place."""

import gzip
import json
import shutil
import sqlite3

import pytest
from support.command import Place

pytestmark = pytest.mark.slow

CANARY = "The zebrafinch {0} sang beside the orange gate {0} until the fog came {0} hours later."
FILLER = " ".join(f"Keeper number {n} wound the clockwork and trimmed lamp {n}." for n in range(20))


@pytest.fixture(scope="module")
def emptied(tmp_path_factory, bundled_model):
    """A home of twelve documents, of which two were deleted, and the text of the first."""
    place = Place(tmp_path_factory.mktemp("verify"))
    texts = {}
    for number in range(12):
        word = f"{'abcdefghijkl'[number] * 5}x"
        texts[number] = f"{CANARY.format(word)} {FILLER}"
        place.write(f"letter{number}.txt", texts[number])
    assert place.call("build", place.docs).code == 0
    assert place.call("report", "letter3.txt", "--no-open").code == 0
    for number in (3, 4):
        (place.docs / f"letter{number}.txt").unlink()
    assert place.call("build", "--confirm-removal").code == 0
    text = place.root / "letter3.bak"
    text.write_text(texts[3])
    erased = place.call("verify", "--gone", "letter3.txt", "--text", text, "--erase")
    assert erased.code == 0, erased.out
    return place


@pytest.fixture
def home(emptied, tmp_path):
    shutil.copytree(emptied.root, tmp_path / "copy")
    return Place(tmp_path / "copy")


def verify(place, *options):
    text = place.root / "letter3.bak"
    printed = place.call("verify", "--gone", "letter3.txt", "--text", text, "--json", *options)
    return printed.code, printed.json


def test_nothing_of_a_deleted_document_stands_in_the_home_nor_in_the_result(home):
    output = home.root / "result.json"
    code, values = verify(home, "--output", output)
    assert (code, values["found"]) == (0, [])
    assert values["n_passages"] > 5
    result = json.loads(output.read_text())
    assert any("payload_storage" in path for path in result["files"])
    assert all(len(digest) == 64 for digest in result["files"].values())
    assert "zebrafinch" not in output.read_text()


def test_the_bytes_of_a_dropped_tree_leave_a_small_store_with_the_drop(home):
    assert home.call("drop", "letter5.txt", "--yes").code == 0
    pages = (home.home / "qdrant").rglob("page_*.dat")
    assert not any(b"fffffx" in page.read_bytes() for page in pages)
    assert not (home.home / "maps" / "letter5.txt.map").exists()


def plant_cache_row(place, text):
    with sqlite3.connect(place.home / "answers" / "cache.sqlite") as cache:
        cache.execute("insert into kept values ('k', ?, null, 's')", (text.encode(),))


def plant_page(place, text):
    escaped = json.dumps(text.upper()).replace(" ", "\\n")
    (place.home / "reports" / "old.html").write_text(f"<script>{escaped}</script>")


def plant_table(place, text):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"rows": [[{"text": text}]]})
    pq.write_table(table, place.home / "tables" / "old.parquet", compression="zstd")


def plant_segment(place, text):
    from qdrant_edge import EdgeShard, Point, UpdateOperation

    (engine,) = (place.home / "qdrant").glob("*/engine")
    shard = EdgeShard.load(str(engine))
    point = Point("11111111-1111-1111-1111-111111111111", {}, {"rest": FILLER + FILLER + text})
    shard.update(UpdateOperation.upsert_points([point]))
    shard.update(UpdateOperation.delete_points([point.id]))
    shard.flush()
    shard.close()


@pytest.mark.parametrize("plant", [plant_cache_row, plant_page, plant_table, plant_segment])
def test_a_leftover_in_the_home_is_found_with_its_file_and_a_remedy(home, plant):
    plant(home, CANARY.format("dddddx"))
    code, values = verify(home)
    assert code == 1
    assert {remnant["what"] for remnant in values["found"]} == {"text"}
    assert all(remnant["remedy"] for remnant in values["found"])


def test_a_packed_export_is_found_and_its_deletion_ends_it(home):
    export = home.root / "old.jsonl.gz"
    export.write_bytes(gzip.compress(CANARY.format("dddddx").encode()))
    code, values = verify(home, "--also", export)
    assert code == 1
    assert values["found"][0]["path"] == str(export)


def test_text_that_remaining_documents_share_is_no_leftover(home):
    (home.home / "reports" / "old.html").write_text(FILLER)
    assert verify(home)[0] == 0


def test_without_its_text_the_result_says_what_cannot_be_known(home):
    (home.home / "reports" / "old.html").write_text("see docs/letter3.txt")
    printed = home.call("verify", "--gone", "letter3.txt", "--json")
    assert printed.code == 1
    assert [remnant["what"] for remnant in printed.json["found"]] == ["id"]
    assert any("only the id" in limit for limit in printed.json["limits"])


def test_a_published_document_is_refused(home):
    printed = home.call("verify", "--gone", "letter6.txt")
    assert printed.code == 4
    assert "still published" in printed.err
