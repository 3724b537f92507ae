"""Faults that the stand-in endpoint answers with on demand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One way to fail: a status, a finish reason, a refusal, or raw bytes.

    ``seconds`` delays the answer first, beside the server's own delay unless it comes ``at_once``.
    ``raw`` is sent as it is, ``cut`` closes the connection after the first half of the answer, or
    before any byte when ``raw`` is empty bytes.
    """

    status: int = 200
    message: str = "scripted fault"
    code: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    finish_reason: str = "stop"
    content: str | None = None
    refusal: str | None = None
    raw: bytes | None = None
    cut: bool = False
    seconds: float = 0.0
    at_once: bool = False

    @classmethod
    def rate_limited(cls, retry_after: str = "0.01", code: str | None = None) -> Fault:
        """HTTP 429 with a Retry-After header."""
        return cls(status=429, code=code, headers=(("Retry-After", retry_after),))

    @classmethod
    def error(cls, status: int = 500, message: str = "scripted fault") -> Fault:
        """An HTTP error."""
        return cls(status=status, message=message)

    @classmethod
    def cut_connection(cls, *, midway: bool = False) -> Fault:
        """The connection ends before the answer, or in the middle of it."""
        return cls(cut=True, raw=None if midway else b"")

    @classmethod
    def malformed(cls, raw: bytes = b'{"choices": [') -> Fault:
        """An answer of status 200 that is not what the protocol says."""
        return cls(raw=raw)

    @classmethod
    def refusing(cls, refusal: str = "I will not do that.") -> Fault:
        """The refusal field is set."""
        return cls(refusal=refusal, content="")

    @classmethod
    def answering(cls, content: str, finish_reason: str = "stop") -> Fault:
        """A given text and finish reason."""
        return cls(content=content, finish_reason=finish_reason)

    @classmethod
    def truncated(cls) -> Fault:
        """The text ends at the token limit."""
        return cls(content="This sentence was never", finish_reason="length")

    @classmethod
    def filtered(cls) -> Fault:
        """The content filter stopped the answer."""
        return cls(content="This sentence was", finish_reason="content_filter")

    @classmethod
    def slow(cls, seconds: float) -> Fault:
        """The usual answer, late."""
        return cls(seconds=seconds)
