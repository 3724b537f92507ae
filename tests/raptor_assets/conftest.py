"""Servers that tests share, one of each in a session; homes whose source changes."""

from support.session_servers import postgres, s3, s3_server
from support.source_homes import built, later, start
from support.stand_ins import stand_in

__all__ = ["built", "later", "postgres", "s3", "s3_server", "stand_in", "start"]
