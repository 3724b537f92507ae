"""Custom components that settings name: making them, and checking that they have all members.

Each package defines the protocol of its component; ``components`` chooses between custom and
built-in ones.
"""

from typing import Any

from raptor_core.audit.base import Judge
from raptor_core.chunking.base import Chunker
from raptor_core.clustering.base import Clusterer
from raptor_core.errors import SettingsError
from raptor_core.import_paths import make_from_path
from raptor_core.models.embedding.base import Embedder
from raptor_core.models.local.files import require_model_file
from raptor_core.models.reading.reader import PassageReader, Reader
from raptor_core.models.summarizing.base import FunctionSummarizer, Summarizer
from raptor_core.settings import Settings
from raptor_core.tokens import make_counter
from raptor_core.tokens.base import TokenCounter

PROTOCOLS: dict[str, type] = {
    "counter": TokenCounter,
    "chunker": Chunker,
    "embedder": Embedder,
    "clusterer": Clusterer,
    "summarizer": Summarizer,
    "judge": Judge,
    "reader": PassageReader,
}
"""Protocols that custom components must satisfy, by kind."""

_GROUPS = ("tokens", "chunking", "embedder", "clustering", "summarizer", "audit")
_KINDS = dict(zip(_GROUPS, PROTOCOLS, strict=False))
"""Kind of the component that each section of the settings describes, without the reader."""
_cache: dict[tuple[str, str], Any] = {}
"""Custom components by kind and settings, so that all callers share one instance."""


def custom_component(kind: str, settings: Settings) -> Any | None:
    """Return the custom component of a kind, or None if the settings name none.

    Raises:
        SettingsError: it cannot be made, or lacks a member.
    """
    name = getattr(settings.components, kind)
    if not name:
        return None
    key = kind, settings.model_dump_json()
    if key not in _cache:
        label = f'components.{kind} = "{name}"'
        _cache[key] = check_interface(kind, make_from_path(name, settings, label), label)
    return _cache[key]


def custom_fingerprints(settings: Settings) -> dict[str, str]:
    """Return the fingerprints of the custom components in settings, by section."""
    components = {group: custom_component(kind, settings) for group, kind in _KINDS.items()}
    return {
        group: f"{part.name}/{part.version}" if group == "audit" else str(part.fingerprint)
        for group, part in components.items()
        if part is not None
    }


def check_interface(kind: str, component: Any, label: str) -> Any:
    """Return the component if it has all members of its protocol, else raise SettingsError.

    A function is wrapped as a summarizer. The error begins with ``label``.
    """
    if kind == "summarizer" and callable(component) and not hasattr(component, "summarize"):
        component = FunctionSummarizer(component)
    protocol = PROTOCOLS[kind]
    members = [name for name in vars(protocol) if not name.startswith("_")]
    if missing := [name for name in members if not hasattr(component, name)]:
        raise SettingsError(
            f"{label}: {type(component).__name__} lacks {', '.join(missing)}; "
            f"see {protocol.__module__}.{protocol.__name__} for what a {kind} must have"
        )
    return component


def make_token_counter(settings: Settings) -> TokenCounter:
    """Return the custom token counter that the settings name, or the built-in one."""
    custom: TokenCounter | None = custom_component("counter", settings)
    return custom or make_counter(settings.tokens, settings.embedder)


def make_answering_model(settings: Settings) -> PassageReader:
    """Return the custom model that answers questions, or the built-in one."""
    custom: PassageReader | None = custom_component("reader", settings)
    return custom or Reader(settings.reader)


def require_reader(settings: Settings) -> None:
    """Check without a call that a model can answer questions.

    Raises:
        MissingKeyError: the endpoint's key is missing.
        ModelError: the file of a local model is missing.
        SettingsError: the custom component cannot be made.
    """
    reader = make_answering_model(settings)
    if isinstance(reader, Reader):
        reader.require_key()
        if settings.reader.is_local:
            require_model_file(settings.reader.model, "reader.model")
