"""Parts of one's own: found by name, made, and held against what a build needs of them."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from raptor_core.audit.base import Judge
from raptor_core.chunking.base import Chunker
from raptor_core.clustering.base import Clusterer
from raptor_core.errors import SettingsError
from raptor_core.models.embedding.base import Embedder
from raptor_core.models.summarizing.base import Summarizer
from raptor_core.models.summarizing.function import FunctionSummarizer
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
}
"""What a part of each kind must have."""

ENTRY_POINTS = "raptor_core.components"
"""Group of the entry points that a part may be named by."""

_SETTING = {"chunking": "chunker", "tokens": "counter", "clustering": "clusterer", "audit": "judge"}
"""Parts by the settings that they take the place of, where the names differ."""

_made: dict[tuple[str, str], Any] = {}
"""Parts by kind and settings, so that all who ask for one share it."""


def own_component(kind: str, settings: Settings) -> Any | None:
    """The part that the settings name for a kind of ``PROTOCOLS``; None where they name none.

    Raises:
        SettingsError: it is not there, cannot be made, or lacks something; what, is named.
    """
    name = getattr(settings.components, kind)
    if not name:
        return None
    key = kind, settings.model_dump_json()
    if key not in _made:
        told = f'components.{kind} = "{name}"'
        _made[key] = checked(kind, _make(kind, _find(name, told), settings, told), told)
    return _made[key]


def own_fingerprint(setting: str, settings: Settings) -> str:
    """What a part of one's own makes of what depends on a group of settings; empty for ours."""
    kind = _SETTING.get(setting, setting)
    part = own_component(kind, settings) if kind in PROTOCOLS else None
    if part is None:
        return ""
    return f"{part.name}/{part.version}" if kind == "judge" else str(part.fingerprint)


def checked(kind: str, part: Any, told: str) -> Any:
    """A part that has all that its protocol asks for; a function becomes a summarizer.

    Raises:
        SettingsError: something is missing, or takes other arguments.
    """
    if kind == "summarizer" and callable(part) and not hasattr(part, "summarize"):
        part = FunctionSummarizer(part)
    protocol = PROTOCOLS[kind]
    wanted = {name: value for name, value in vars(protocol).items() if not name.startswith("_")}
    if missing := [name for name in wanted if not hasattr(part, name)]:
        raise SettingsError(
            f"{told}: {type(part).__name__} lacks {', '.join(missing)}; "
            f"{protocol.__module__}.{protocol.__name__} says what a {kind} has"
        )
    for name, value in wanted.items():
        if inspect.isfunction(value):
            _require_arguments(part, name, value, told)
    return part


def _require_arguments(part: Any, name: str, wanted: Callable[..., Any], told: str) -> None:
    names = list(inspect.signature(wanted).parameters)[1:]
    method = getattr(part, name)
    try:
        inspect.signature(method).bind(*names)
    except TypeError as error:
        raise SettingsError(
            f"{told}: {type(part).__name__}.{name} must take ({', '.join(names)}): {error}"
        ) from error
    except ValueError:
        return  # compiled code that shows no signature


def _find(name: str, told: str) -> Any:
    if ":" not in name:
        points = entry_points(group=ENTRY_POINTS, name=name)
        if not points:
            raise SettingsError(
                f"{told}: no installed package has an entry point of this name in the group "
                f"{ENTRY_POINTS!r}; write an import path, such as package.module:name"
            )
        load: Callable[[], Any] = next(iter(points)).load
    else:
        load = partial(pkgutil.resolve_name, name)
    try:
        return load()
    except ImportError as error:
        raise SettingsError(
            f"{told}: {error}. Install its package, or name its folder in PYTHONPATH"
        ) from error
    except (AttributeError, ValueError) as error:
        raise SettingsError(f"{told}: {error}") from error


def _make(kind: str, part: Any, settings: Settings, told: str) -> Any:
    """The part that was found, or what makes it, called."""
    if not inspect.isclass(part) and not inspect.isfunction(part):
        return part
    if kind == "summarizer" and inspect.isfunction(part):
        return part
    known: dict[str, Callable[[], Any]] = {
        "settings": lambda: settings,
        "counter": lambda: counter_of(settings),
    }
    takes = inspect.signature(part).parameters
    try:
        return part(**{name: make() for name, make in known.items() if name in takes})
    except Exception as error:
        raise SettingsError(
            f"{told}: {part.__qualname__} cannot be made: {type(error).__name__}: {error}"
        ) from error


def counter_of(settings: Settings) -> TokenCounter:
    """The token counter of one's own, or the one that the settings make."""
    own: TokenCounter | None = own_component("counter", settings)
    return own or make_counter(settings.tokens, settings.embedder)
