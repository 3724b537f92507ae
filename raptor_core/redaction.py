"""Addresses as they may be shown: without passwords."""

from __future__ import annotations

import re

_PASSWORD = re.compile(r"://([^/\s:@]*):[^/\s]*@")
_CREDENTIALS = re.compile(r"://\S*@")


def hide_password(url: str) -> str:
    """The URL with ``***`` for its password, if it has one; any other text as it is."""
    return _PASSWORD.sub(r"://\1:***@", url)


def hide_credentials(text: str) -> str:
    """The text with ``***`` for all that stands before the host in a URL, well formed or not."""
    return _CREDENTIALS.sub("://***@", text)
