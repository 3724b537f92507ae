"""Every error the package raises on purpose.

    RaptorError
    ├── SettingsError            a setting is unknown, malformed or contradicts another
    │   └── MissingHomeError     there is no home, so there are no settings
    ├── MissingExtraError        an optional dependency is not installed
    ├── MissingKeyError          the environment holds no key that is needed, or no usable one
    ├── SourceError              a source as a whole cannot be read
    │   └── EmptySourceError     it can be read and holds no document
    ├── ModelError               a model cannot be loaded, or is not the one that was named
    ├── ClusteringError          no clustering can satisfy the settings
    ├── SummaryError             summaries failed; names the nodes, keeps what is finished
    ├── EndpointError            an HTTP model endpoint failed for good
    │   └── EndpointDownError    it failed for everybody and was waited for
    ├── BudgetError              a model call would pass the run's budget; keeps what is finished
    ├── InvariantError           a tree breaks one of the laws it must hold
    ├── TableError               a stored table is missing or of another version
    │   └── DamagedTableError    its bytes are not those that were written
    ├── CurationError            what a person decides on is not there
    ├── ExportError              exported trees are missing, damaged or of another version
    ├── RecordsError             the database of Dagster's records failed
    └── StoreError               the vector store failed
        ├── StoreLockedError     another process holds the embedded store
        ├── DamagedTreeError     a published tree is not whole
        ├── StoreRefusedError    a server took a request for wrong
        ├── StoreMismatchError   the store belongs to another embedder, dimension or version
        └── UnknownTreeError     no such published tree

A message says what was expected, what came, where, and what to do about it.
"""

from raptor_core.redaction import printable


class RaptorError(Exception):
    """Base of all errors raised on purpose; a message never steers the terminal that shows it."""

    def __str__(self) -> str:
        return printable(super().__str__())


class SettingsError(RaptorError):
    """A setting is unknown, malformed or contradicts another."""


class MissingHomeError(SettingsError):
    """There is no home, so there are no settings."""


class MissingExtraError(RaptorError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the optional extra '{extra}': pip install 'raptor-assets[{extra}]'"
        )
        self.extra = extra


class MissingKeyError(RaptorError):
    """The environment holds no key where one is needed, or one that no request can carry."""


class SourceError(RaptorError):
    """A source as a whole cannot be read."""


class EmptySourceError(SourceError):
    """A source can be read and holds no document."""


class ModelError(RaptorError):
    """A model cannot be loaded, or is not the one that was named."""


class ClusteringError(RaptorError):
    """No clustering can satisfy the settings."""


class SummaryError(RaptorError):
    """Summaries failed; the finished ones are kept."""


class EndpointError(RaptorError):
    """An HTTP model endpoint failed for good; with ``comes_again`` it would the next time too."""

    def __init__(self, message: str = "", *, comes_again: bool = False) -> None:
        super().__init__(message)
        self.comes_again = comes_again


class EndpointDownError(EndpointError):
    """An endpoint fails every call, and did so for as long as the settings wait."""


class BudgetError(RaptorError):
    """The next model call would pass a bound of the run's budget; what is finished is kept."""


class InvariantError(RaptorError):
    """A tree breaks one of the laws it must hold."""


class TableError(RaptorError):
    """A stored table is missing or of another version, or its place does not answer."""


class DamagedTableError(TableError):
    """The bytes of a stored table are not those that were written."""


class CurationError(RaptorError):
    """What a person decides on is not there."""


class ExportError(RaptorError):
    """Exported trees are missing, damaged or of another version."""


class RecordsError(RaptorError):
    """The database of Dagster's records failed."""


class StoreError(RaptorError):
    """The vector store failed."""


class StoreLockedError(StoreError):
    """Another process holds the embedded store."""


class DamagedTreeError(StoreError):
    """A published tree is not whole; building it again makes it so."""


class StoreRefusedError(StoreError):
    """The server of the vector store took a request for wrong, so nothing of it was applied."""


class StoreMismatchError(StoreError):
    """The store belongs to another embedder, dimension or version."""


class UnknownTreeError(StoreError):
    """No such published tree."""
