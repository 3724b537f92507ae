"""Removal of secrets from addresses, and of terminal control characters from texts."""

import re
from urllib.parse import urlsplit

_PASSWORD = re.compile(r"://([^/\s:@]*):[^/\s]*@")
_TOKEN = re.compile(r"(https?://)[^/\s:@]+@")
_CREDENTIALS = re.compile(r"://\S*@")
_SIGNATURE = re.compile(
    r"([?&](?:sig|signature|token|access_token|api[_-]?key|key|x-(?:amz|goog)-[\w-]+)=)[^&\s\"']+",
    re.IGNORECASE,
)
"""Keys in URLs, and signatures in signed URLs of Azure, Amazon and Google."""

UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters except tab and line break, direction overrides, zero-width characters, and
surrogates. The joiners U+200C and U+200D are kept, because words of several languages need them."""


def escape_control_characters(text: str, *, lines: bool = True) -> str:
    """Escape control characters in a text; also line breaks if ``lines`` is False."""
    shown = text.replace("\r\n", "\n")
    shown = shown if lines else shown.replace("\n", "\\n")
    return UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], shown)


def hide_secrets(url: str) -> str:
    """Replace passwords, tokens and signatures in a URL by ``***``."""
    return _SIGNATURE.sub(r"\1***", _TOKEN.sub(r"\1***@", _PASSWORD.sub(r"://\1:***@", url)))


def hide_credentials(text: str) -> str:
    """Replace user, password and signature of every URL in a text by ``***``."""
    return _SIGNATURE.sub(r"\1***", _CREDENTIALS.sub("://***@", text))


def proxy_hint(url: str) -> str:
    """Return a hint for a failed request if it goes through the environment's proxy, else "".

    The hint names the variable, because the proxy's address may contain a password.
    """
    from urllib.request import getproxies_environment, proxy_bypass  # imports http.client

    parts = urlsplit(url)
    proxies = getproxies_environment()
    name = next((name for name in (parts.scheme, "all") if proxies.get(name)), None)
    if name is None or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    variable = f"{name.upper()}_PROXY"
    return f"; requests go through the proxy in {variable}, unless NO_PROXY names the host"
