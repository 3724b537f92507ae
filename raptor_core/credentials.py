"""Validation of API keys from environment variables, before they are sent.

``raptor_core.settings`` names the variables. No error shows a key.
"""

from ipaddress import ip_address

from raptor_core.errors import MissingKeyError

MAX_KEY_CHARS = 4096
"""Maximum length of a key; most servers accept headers of this length."""


def require_sendable_key(key: str, variable: str, use: str) -> str:
    """Return the key if it can be sent in an HTTP header, else raise MissingKeyError.

    ``use`` is what needs the key, for the message, such as "the summarizer".
    """
    if fault := _find_key_fault(key):
        raise MissingKeyError(
            f"the environment variable {variable} contains no usable key for {use}: it {fault}. "
            "Set it again, in printable ASCII characters, without spaces or quotes around it"
        )
    return key


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, so that no key leaves it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _find_key_fault(key: str) -> str:
    """Return what is wrong with a key as a predicate, such as "is empty", or ""."""
    if not key.strip():
        return "is empty"
    if key != key.strip():
        return "begins or ends with a space or a line break"
    if not (key.isascii() and key.isprintable()):
        return "has characters that no key has (line breaks or letters beyond ASCII)"
    if key[0] == key[-1] and key[0] in "\"'`":
        return "is in quotes"
    if len(key) > MAX_KEY_CHARS:
        return f"has {len(key):,} characters, and at most {MAX_KEY_CHARS:,} are sent"
    return ""
