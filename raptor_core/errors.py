"""Errors that the package raises on purpose, each base class above its subclasses.

A message says what was expected, what came, where, and what to do about it.
"""

from raptor_core.redaction import printable


class RaptorError(Exception):
    """Base of all errors raised on purpose; its message contains no control characters."""

    def __str__(self) -> str:
        return printable(super().__str__())


class SettingsError(RaptorError):
    """A setting is unknown, malformed or contradicts a different setting."""


class QuestionError(SettingsError):
    """The question contains no word."""


class MissingHomeError(SettingsError):
    """There is no home, and therefore no settings."""


class MissingExtraError(RaptorError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional extra '{extra}': pip install 'raptor-assets[{extra}]'"
        )
        self.extra, self.purpose = extra, purpose


class MissingKeyError(RaptorError):
    """The environment lacks a key that is needed, or has one that no request can carry."""


class SourceError(RaptorError):
    """A complete source cannot be read."""


class EmptySourceError(SourceError):
    """A source can be read but contains no document."""


class ModelError(RaptorError):
    """A model cannot be loaded, or differs from the named model."""


class CheckError(RaptorError):
    """A check refuses a publication."""


class ClusteringError(RaptorError):
    """No clustering can satisfy the settings."""


class SummaryError(RaptorError):
    """Summaries failed; the finished ones are kept."""


class EndpointError(RaptorError):
    """An HTTP model endpoint failed for good; with ``comes_again``, retrying would fail, too."""

    def __init__(self, message: str = "", *, comes_again: bool = False) -> None:
        super().__init__(message)
        self.comes_again = comes_again


class AnswerError(EndpointError):
    """A working endpoint gave no usable answer to one call; ``kind`` is a ``CallFault``.

    ``text`` is the readable part of an answer that was cut off, or "".
    """

    def __init__(
        self, message: str = "", kind: str = "unfit", text: str = "", *, comes_again: bool = False
    ) -> None:
        super().__init__(message, comes_again=comes_again)
        self.kind = kind
        self.text = text


class EndpointDownError(EndpointError):
    """An endpoint failed every call for as long as the settings wait."""


class BudgetError(RaptorError):
    """The next model call would exceed the run's budget; finished work is kept."""


class InvariantError(RaptorError):
    """A tree breaks an invariant."""


class TableError(RaptorError):
    """A stored table is missing or of a different version, or its location does not respond."""


class DamagedTableError(TableError):
    """The bytes of a stored table changed since it was written."""


class CurationError(RaptorError):
    """The object of a person's decision does not exist."""


class AccessError(RaptorError):
    """A caller did not identify itself, or may not do what it requested."""


class ExportError(RaptorError):
    """Exported trees are missing, damaged or of a different version."""


class RecordsError(RaptorError):
    """The database of Dagster's records failed."""


class StoreError(RaptorError):
    """The vector store failed."""


class StoreLockedError(StoreError):
    """A different process has the embedded store open."""


class DamagedTreeError(StoreError):
    """A published tree is incomplete; a new build repairs it."""


class StoreRefusedError(StoreError):
    """The server of the vector store rejected a request, so none of it was applied."""


class StoreMismatchError(StoreError):
    """The store belongs to a different embedder, dimension or version."""


class UnknownTreeError(StoreError):
    """The named tree is not published."""
