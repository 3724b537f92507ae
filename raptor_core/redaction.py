"""What may be told of addresses: no passwords."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

_PASSWORD = re.compile(r"://([^/\s:@]*):[^/\s]*@")
_CREDENTIALS = re.compile(r"://\S*@")


def hide_password(url: str) -> str:
    """The URL with ``***`` for its password, if it has one; any other text as it is."""
    return _PASSWORD.sub(r"://\1:***@", url)


def hide_credentials(text: str) -> str:
    """The text with ``***`` for all that stands before the host in a URL, well formed or not."""
    return _CREDENTIALS.sub("://***@", text)


def told_proxy(url: str) -> str:
    """What to say of a failed request besides, where the environment sends it through a proxy.

    The proxy's own address may hold a password, so it is named by its variable.
    """
    parts = urlsplit(url)
    proxies = getproxies_environment()
    name = next((name for name in (parts.scheme, "all") if proxies.get(name)), None)
    if name is None or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    variable = f"{name.upper()}_PROXY"
    return f"; it is asked through the proxy in {variable}, unless NO_PROXY names its host"
