"""An S3 server of the tests' own on loopback: moto's, with all objects in memory."""

from __future__ import annotations

import logging
import uuid
from contextlib import contextmanager

KEY, SECRET = "key-of-the-tests", "secret-of-the-tests"


class ObjectStore:
    """A running server; ``new_bucket`` gives tests one of their own."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to reach the server."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_MAX_ATTEMPTS": "1",  # a server that is gone is gone: no seconds of waiting
        }

    def client(self):
        """A client that is not the one under test."""
        import boto3

        credentials = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
        return boto3.client("s3", endpoint_url=self.url, region_name="us-east-1", **credentials)

    def new_bucket(self) -> str:
        """Make an empty bucket; its name."""
        name = f"bucket-{uuid.uuid4().hex[:12]}"  # moto's servers of one process share all
        self.client().create_bucket(Bucket=name)
        return name

    def keys(self, bucket: str) -> set[str]:
        """Names of the objects in a bucket."""
        found = self.client().list_objects_v2(Bucket=bucket)
        return {entry["Key"] for entry in found.get("Contents", ())}


@contextmanager
def object_store():
    """A server for as long as the context lasts."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield ObjectStore(f"http://{host}:{port}")
    finally:
        server.stop()


def forget_connections() -> None:
    """Let s3fs look at the environment again: it keeps one client for a process."""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
