"""A layer's asset writes its points when it is materialized; any Qdrant client reads them."""

import dagster as dg
import pytest
from qdrant_client import QdrantClient, models
from support.workshop import Workshop, prose

pytestmark = pytest.mark.slow

NAME = "a.md"


def materialize(workshop, *selection):
    """Materialize these assets of the partition, and no others."""
    with workshop.instance() as instance:
        instance.add_dynamic_partitions("trees", [NAME])
        done = (
            workshop.definitions()
            .resolve_implicit_global_asset_job_def()
            .execute_in_process(
                instance=instance,
                asset_selection=[dg.AssetKey(key.split("/")) for key in selection],
                partition_key=NAME,
            )
        )
    assert done.success


def points(client, **fields):
    """The points with these fields, read by a plain client."""
    (collection,) = client.get_collections().collections
    must = [
        models.FieldCondition(key=key, match=models.MatchValue(value=value))
        for key, value in fields.items()
    ]
    where = models.Filter(must=must)
    return client.scroll(collection.name, where, limit=1000, with_vectors=True)[0]


def test_a_layer_is_staged_when_its_asset_is_materialized_alone(tmp_path, stand_in):
    workshop = Workshop(tmp_path, store={"kind": "server", "url": stand_in.url})
    workshop.write(NAME, prose(24, seed=1))
    materialize(workshop, "documents", "chunks")
    materialize(workshop, "layer_0/embeddings")
    client = QdrantClient(url=stand_in.url, check_compatibility=False)
    staged = points(client, layer=0, tree=NAME, state="staged")
    assert len(staged) > 3
    assert all(len(point.vector["dense"]) == workshop.embedder.n_dims for point in staged)
    assert points(client, state="live") == points(client, layer=1) == []
    assert workshop.texts(NAME) == set()
    assert workshop.build().succeeded
    live = points(client, layer=0, tree=NAME, state="live")
    assert {point.id for point in live} == {point.id for point in staged}
    assert points(client, layer=1, state="live")
    assert points(client, state="staged") == []
    client.close()
