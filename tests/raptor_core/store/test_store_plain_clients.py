"""A plain QdrantClient at an embedded store: it reads local mode, and is told where Edge lies."""

import pytest
from qdrant_client import QdrantClient, models
from support.stores import make_tree, open_at, publish


@pytest.fixture(params=["edge", "local"])
def root(request, tmp_path):
    with open_at(tmp_path / "store", request.param) as store:
        publish(store, make_tree())
    return tmp_path / "store"


def test_a_client_on_the_folder_is_told_the_place_and_changes_nothing(root):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    client = QdrantClient(path=str(root))
    with pytest.raises(KeyError, match=r"corpus-[0-9a-f]+/engine"):
        client.scroll("corpus")
    client.close()
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_a_client_reads_layers_of_local_mode_with_their_payloads(tmp_path):
    nodes = make_tree()
    with open_at(tmp_path, "local") as store:
        publish(store, nodes)
    (engine,) = tmp_path.glob("corpus-*/engine")
    client = QdrantClient(path=str(engine))
    live = models.FieldCondition(key="state", match=models.MatchValue(value="live"))
    points, _ = client.scroll("nodes", models.Filter(must=[live]), limit=1000)
    client.close()
    found = {(p.payload["node_id"], p.payload["layer"], p.payload["text"]) for p in points}
    assert found == {(node.id, node.layer, node.text) for node in nodes}
