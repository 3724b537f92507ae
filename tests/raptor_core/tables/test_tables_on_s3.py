"""Tables on a real S3 server: written whole, read whole, and its failures have words."""

import pytest
from support.object_store import KEY, SECRET, forget_connections

from raptor_core.errors import TableError
from raptor_core.tables.files import TableStore

pytestmark = [pytest.mark.slow, pytest.mark.rare]

AT = (["layer_1", "summaries"], "a/b c")


def frame(word, n_rows=3):
    import pandas as pd

    return pd.DataFrame({"tree": [word] * n_rows, "position": range(n_rows)})


def trees(table):
    return set(table.column("tree").to_pylist())


def test_a_table_comes_back_and_goes(s3):
    bucket = s3.new_bucket()
    store = TableStore(f"s3://{bucket}/tables")
    assert not store.exists(*AT)
    store.write(*AT, frame("one"), {"input": "v1"})
    assert store.read(*AT).to_pandas().equals(frame("one"))
    assert store.properties(*AT) == {"input": "v1"}
    assert s3.keys(bucket) == {"tables/layer_1/summaries/a%2fb c.parquet"}
    assert store.delete(*AT)
    assert not store.delete(*AT)
    assert s3.keys(bucket) == set()


def test_a_write_that_fails_leaves_what_stood_there(s3, monkeypatch):
    import pyarrow.parquet as pq

    store = TableStore(f"s3://{s3.new_bucket()}/tables")
    store.write(*AT, frame("one"))

    def half(_table, file, **_options):
        file.write(b"PAR1 and no more")
        raise ValueError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", half)
        with pytest.raises(ValueError, match="no room"):
            store.write(*AT, frame("two"))
    assert trees(store.read(*AT)) == {"one"}


def test_a_server_that_is_gone_is_an_error_and_never_an_absence(s3, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    forget_connections()
    store = TableStore("s3://bucket/tables")
    calls = (
        lambda: store.exists(*AT),
        lambda: store.read(*AT),
        lambda: store.properties(*AT),
        lambda: store.write(*AT, frame("one")),
        lambda: store.delete(*AT),
    )
    for call in calls:
        with pytest.raises(TableError, match="does not answer") as caught:
            call()
        assert KEY not in str(caught.value)
        assert SECRET not in str(caught.value)
