"""What a server says of a request that failed, in our own words, and what helps."""

from __future__ import annotations

import json

FULL_DISK = ("no space left", "file too large", "can't write wal")
"""What a server whose disk is full says, in lower case; its status is that of any fault."""

_KEY_CODES = ("401", "403", "UNAUTHENTICATED", "PERMISSION_DENIED")
_GONE_CODES = ("404", "NOT_FOUND")


def code(error: Exception) -> str:
    """The status of an answer, "404", or of a call by gRPC, "NOT_FOUND"; empty where none came."""
    import grpc
    from qdrant_client.http.exceptions import UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return str(error.status_code or "")
    if isinstance(error, grpc.RpcError) and hasattr(error, "code"):
        return str(error.code().name)
    return ""


def reason(error: Exception) -> str:
    """What was said, in one line, without the client's own wrapping."""
    import grpc
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        said = f"{error.status_code} {error.reason_phrase}: {_message(error.content)}"
    elif isinstance(error, grpc.RpcError) and hasattr(error, "details"):
        said = f"{code(error)}: {error.details()}"
    elif isinstance(error, ResponseHandlingException):
        said = str(error.source) or type(error.source).__name__
    else:
        said = str(error)
    return " ".join(said.split()).rstrip(":. ") or type(error).__name__


def remedy(error: Exception, key: str) -> str:
    """What helps; empty where the server's address and health are to be looked at.

    ``key`` names the key: "the key in QDRANT_API_KEY (set)".
    """
    if any(word in reason(error).lower() for word in FULL_DISK):
        return (
            "free space on the server's disk, then run the same again; a server that goes on "
            "saying so is to be started anew"
        )
    if code(error) in _KEY_CODES:
        return f"check {key}: whether it is this server's, and may do what was asked"
    if code(error) in _GONE_CODES:
        return (
            "the collection was removed or replaced meanwhile: open the store again, and build "
            "what is missing"
        )
    return ""


def _message(content: bytes) -> str:
    """The sentence in a body, which is JSON of Qdrant's form or a text of anybody's."""
    try:
        status = json.loads(content)["status"]
        return str(status["error"])
    except (ValueError, LookupError, TypeError):
        return content.decode("utf-8", "replace")
