"""Servers that tests share, one of each in a session."""

from support.session_servers import postgres, s3, s3_server

__all__ = ["postgres", "s3", "s3_server"]
