"""Errors that this project raises on purpose; each base class stands above its subclasses.

A message says what was expected, what was found, where, and what to do about it.
"""

from raptor_core.redaction import escape_control_characters


class RaptorError(Exception):
    """Base of all errors raised on purpose; its message contains no control characters."""

    def __str__(self) -> str:
        return escape_control_characters(super().__str__())


class SettingsError(RaptorError):
    """A setting is unknown, malformed or contradicts another setting."""


class QuestionError(SettingsError):
    """The question contains no word."""


class MissingHomeError(SettingsError):
    """The folder is not a home, so it has no settings."""


class MissingExtraError(RaptorError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional extra '{extra}': pip install 'raptor-assets[{extra}]'"
        )
        self.extra, self.purpose = extra, purpose


class MissingKeyError(RaptorError):
    """The environment lacks a required key, or its key cannot be sent in a request."""


class SourceError(RaptorError):
    """A source cannot be read at all, unlike a source with some unreadable documents."""


class EmptySourceError(SourceError):
    """A source is readable but contains no documents."""


class ModelError(RaptorError):
    """A model cannot be loaded or used, or is not the one that the settings name."""


class CheckError(RaptorError):
    """A check blocks a publication."""


class ClusteringError(RaptorError):
    """No clustering can satisfy the settings."""


class SummaryError(RaptorError):
    """Summaries failed; the finished ones are kept."""


class EndpointError(RaptorError):
    """A model endpoint failed after all retries; if ``is_permanent``, a later call fails, too."""

    def __init__(self, message: str = "", *, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


class AnswerError(EndpointError):
    """A working endpoint gave no usable answer to a call.

    Attributes:
        kind: what was wrong, a ``CallFault``.
        text: the readable part of an answer that was cut off, or "".
    """

    def __init__(
        self, message: str = "", kind: str = "unfit", text: str = "", *, is_permanent: bool = False
    ) -> None:
        super().__init__(message, is_permanent=is_permanent)
        self.kind = kind
        self.text = text


class EndpointDownError(EndpointError):
    """An endpoint failed every call, including all retries that the settings allow."""


class BudgetError(RaptorError):
    """The next model call would exceed the run's budget; finished work is kept."""


class InvariantError(RaptorError):
    """A tree breaks an invariant."""


class TableError(RaptorError):
    """A stored table is missing or has another version, or its storage does not respond."""


class DamagedTableError(TableError):
    """The bytes of a stored table have changed since it was written."""


class CurationError(RaptorError):
    """The document, chunk, summary or finding that a person decides on does not exist."""


class AccessError(RaptorError):
    """A caller did not say who it is, or lacks the right to do what it requested."""


class ExportError(RaptorError):
    """Exported trees are missing, damaged or have another version."""


class DagsterStorageError(RaptorError):
    """Dagster's run and event storage failed."""


class StoreError(RaptorError):
    """The vector store failed."""


class StoreLockedError(StoreError):
    """Another process has the embedded store open."""


class DamagedTreeError(StoreError):
    """A published tree is incomplete; a new build repairs it."""


class StoreRefusedError(StoreError):
    """The server of the vector store rejected a request, so none of it was applied."""


class StoreMismatchError(StoreError):
    """The store was built with another embedder, vector length or version."""


class UnknownTreeError(StoreError):
    """The named tree is not published."""
