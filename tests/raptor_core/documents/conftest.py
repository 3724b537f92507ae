"""Servers that tests share, one of each in a session."""

from support.session_servers import postgres

__all__ = ["postgres"]
