"""Servers that tests share, one of each in a session; homes whose source changes."""

from support.session_servers import postgres, s3, s3_server
from support.source_homes import built, built_pair, later, pair, start
from support.stand_ins import stand_in

__all__ = [
    "built",
    "built_pair",
    "later",
    "pair",
    "postgres",
    "s3",
    "s3_server",
    "stand_in",
    "start",
]
