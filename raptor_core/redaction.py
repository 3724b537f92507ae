"""What may be shown: addresses without secrets, texts without characters that steer a terminal."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PASSWORD = re.compile(r"://([^/\s:@]*):[^/\s]*@")
_TOKEN = re.compile(r"(https?://)[^/\s:@]+@")
_CREDENTIALS = re.compile(r"://\S*@")
_SIGNATURE = re.compile(
    r"([?&](?:sig|signature|token|access_token|api_?key|key|x-(?:amz|goog)-[\w-]+)=)[^&\s\"']+",
    re.IGNORECASE,
)
"""Of links that let whoever has them read: Azure's, Amazon's, Google's, and keys."""


UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls but the tab and the line break, overrides of direction, what has no width, halves of
characters. The joiners U+200C and U+200D stay: words of several languages are written with them."""


def printable(text: str, *, lines: bool = True) -> str:
    """Return the text with an escape in place of each character that steers a terminal.

    Args:
        lines: whether line breaks stay; without, they are escaped, too.
    """
    shown = text.replace("\r\n", "\n")
    shown = shown if lines else shown.replace("\n", "\\n")
    return UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], shown)


def hide_secrets(url: str) -> str:
    """Return the URL with ``***`` for a password, a token and a signature."""
    return _SIGNATURE.sub(r"\1***", _TOKEN.sub(r"\1***@", _PASSWORD.sub(r"://\1:***@", url)))


def hide_credentials(text: str) -> str:
    """Return the text with ``***`` for everything before the host in any URL, and signatures."""
    return _SIGNATURE.sub(r"\1***", _CREDENTIALS.sub("://***@", text))


def told_proxy(url: str) -> str:
    """Return a hint for a failed request that goes through a proxy of the environment, or "".

    The proxy's own address may hold a password, so it is named by its variable.
    """
    from urllib.request import getproxies_environment, proxy_bypass  # brings http.client

    parts = urlsplit(url)
    proxies = getproxies_environment()
    name = next((name for name in (parts.scheme, "all") if proxies.get(name)), None)
    if name is None or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    variable = f"{name.upper()}_PROXY"
    return f"; it is asked through the proxy in {variable}, unless NO_PROXY names its host"
