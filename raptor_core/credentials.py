"""Keys that environment variables hold, checked before they are used.

Settings name the variables (``raptor_core.settings``). No error shows a key.
"""

from ipaddress import ip_address

from raptor_core.errors import MissingKeyError

MAX_KEY_CHARS = 4096
"""Maximum length of a key that fits into the headers of most servers."""


def check_key(key: str, variable: str, use: str) -> str:
    """Return the key if an HTTP header can carry it unchanged, else raise MissingKeyError.

    ``use`` is the purpose of the key for the message, such as "the summarizer".
    """
    if fault := _fault(key):
        raise MissingKeyError(
            f"the environment variable {variable} holds no usable key for {use}: it {fault}. Set "
            "the key again, in printable ASCII letters, without spaces or quotes around it"
        )
    return key


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, so that no key leaves it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _fault(key: str) -> str:
    """Return the fault of a key, or ""."""
    if not key.strip():
        return "is empty"
    if key != key.strip():
        return "begins or ends with a space or a line break"
    if not (key.isascii() and key.isprintable()):
        return "holds characters that no key has (line breaks or letters beyond ASCII)"
    if key[0] == key[-1] and key[0] in "\"'`":
        return "stands in quotes"
    if len(key) > MAX_KEY_CHARS:
        return f"has {len(key):,} characters, and at most {MAX_KEY_CHARS:,} are sent"
    return ""
