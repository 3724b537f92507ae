"""Place of a server by its address: this machine, a private network, or elsewhere."""

import ipaddress
from urllib.parse import urlsplit

from raptor_core.credentials import is_loopback

_SUFFIXES = (".localhost", ".local", ".internal", ".lan")


def is_nearby(url: str) -> bool:
    """Return whether a server is of this machine or of a private network."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_SUFFIXES)
    return address.is_private  # loopback included


def is_here(url: str) -> bool:
    """Return whether a server is of this machine, whose processors the run shares with it."""
    host = urlsplit(url).hostname or ""
    return host == "host.docker.internal" or is_loopback(host)
