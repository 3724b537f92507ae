"""Servers that tests share, one of each in a session; homes whose source changes."""

from support.session_servers import postgres, s3, s3_server
from support.source_homes import built, start

__all__ = ["built", "postgres", "s3", "s3_server", "start"]
