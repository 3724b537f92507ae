"""Loading of settings from a preset, a TOML file and the environment, which override in this order.

The settings themselves are in ``models.py``.
"""

import difflib
import json
import logging
import os
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from raptor_core.errors import SettingsError
from raptor_core.redaction import hide_credentials
from raptor_core.settings.base import SettingsSection
from raptor_core.settings.checks import QUIET
from raptor_core.settings.models import Settings

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {
        "tokens": {"counter": "tiktoken"},
        "chunking": {"method": "greedy", "max_tokens": 100, "max_context_tokens": 0},
        "embedder": {"kind": "sentence-transformers", "model": "multi-qa-mpnet-base-cos-v1"},
        "clustering": {
            "method": "reference",
            "dimensions": 10,
            "local_neighbors": 10,
            "threshold": 0.1,
            "patience": 0,
            "epochs": 0,
            "max_tokens": 3500,
        },
        "summarizer": {
            "kind": "openai",
            "model": "gpt-3.5-turbo",
            "prompt": "paper",
            "max_tokens": 150,
            "temperature": 1.0,
            "foreign_facts": "report",
        },
        "tree": {"top_nodes": 11},
        "retrieval": {
            "strategy": "collapsed",
            "budget_tokens": 2000,
            "top_k": 20,
            "summary_share": 1.0,
        },
    },
    "quiet": {"checks": {"severity": QUIET}},
}
"""Values of each preset, as in a settings file.

``paper`` has the values of arXiv:2401.18059 or, if the paper gives none, those of its authors'
code. The exception is ``summarizer.max_tokens``: their code has 100, but the summaries in the
paper's Table 10 have 131 tokens on average, which a limit of 150 allows.

``quiet`` switches off the checks that few teams watch.
"""

MORE_PRESETS = "raptor_core.settings.presets"
"""Group of entry points with further presets, such as those of ``raptor_lab``."""


_log = logging.getLogger(__name__)


def preset(name: str) -> Settings:
    """Return the settings of a preset, or raise SettingsError if there is none of this name."""
    return Settings.model_validate(_preset_values(name))


def _preset_values(name: str) -> Mapping[str, Any]:
    if name in PRESETS:
        return PRESETS[name]
    registered = entry_points(group=MORE_PRESETS)
    if name not in registered.names:
        raise SettingsError(
            f"no preset is called {name!r}; available: "
            f"{', '.join(sorted({*PRESETS, *registered.names}))}. More presets, for comparisons, "
            "are in the extra 'lab': pip install 'raptor-assets[lab]'"
        )
    values: Mapping[str, Any] = registered[name].load()
    return values


ENV_PREFIX = "RAPTOR_"
NOT_SETTINGS = frozenset({"RAPTOR_HOME", "RAPTOR_API_KEY", "RAPTOR_WRITING_KEY"})
"""Variables that have the prefix but are not settings."""


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Load settings from a TOML file and override them by the environment.

    The file may name the ``preset`` that it starts from. ``RAPTOR_CLUSTERING__THRESHOLD=0.2``
    overrides ``threshold`` under ``[clustering]``; lists are comma-separated, tables are JSON. A
    warning is logged if texts may exceed the embedder's limit.

    Raises:
        SettingsError: the file is missing or malformed, a key is unknown, or a value is invalid.
    """
    values = _read_toml(path) if path else {}
    name = values.pop("preset", "default")
    where = str(path) if path else "the environment"
    merged = _merge(_preset_values(str(name)), values)
    variables = os.environ if environ is None else environ
    names = sorted(n for n in variables if n.startswith(ENV_PREFIX) and n not in NOT_SETTINGS)
    services = _service_prefixes(names)
    names = [name for name in names if not name.startswith(services)]
    for name in names:
        section, key = _find_setting(name)
        merged = _merge(merged, {section: {key: _parse_variable(section, key, variables[name])}})
    settings = _validate(merged, f"{where} with {', '.join(names).upper()}" if names else where)
    if settings.long_text_warning:
        _log.warning("%s: %s", where, settings.long_text_warning)
    return settings


def with_preset(settings: Settings, name: str) -> Settings:
    """Return the settings overridden by a preset, or raise SettingsError."""
    merged = _merge(settings.model_dump(), _preset_values(name))
    return _validate(merged, f"preset {name!r} over the settings")


def override_settings(settings: Settings, sections: Mapping[str, Any], where: str) -> Settings:
    """Return the settings overridden by ``sections``; errors name ``where`` these come from."""
    merged = _merge(settings.model_dump(exclude_unset=True), sections)
    return _validate(merged, where) if sections else settings


def _validate(values: Mapping[str, Any], where: str) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(f"{where}: {_explain_validation_error(error)}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise SettingsError(f"no settings file at {path}; `raptor init` writes one") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


def _service_prefixes(names: Sequence[str]) -> tuple[str, ...]:
    """Return the prefixes of variables that Kubernetes sets for services named ``raptor…``."""
    host = "_SERVICE_HOST"
    services = [name.removesuffix(host) for name in names if name.endswith(host)]
    return tuple(service + end for service in services for end in ("_SERVICE_", "_PORT"))


def _find_setting(name: str) -> tuple[str, str]:
    """Return the section and key of the setting that an environment variable overrides."""
    section, divider, key = name.removeprefix(ENV_PREFIX).lower().partition("__")
    if not divider:
        raise SettingsError(
            f"environment variable {name} does not name a setting; "
            f"expected {ENV_PREFIX}SECTION__KEY, such as {ENV_PREFIX}CHUNKING__MAX_TOKENS"
        )
    return section, key


def _parse_variable(section: str, key: str, text: str) -> Any:
    origin = get_origin(_find_declared_type((section, key)))
    annotation = _find_declared_type((section, key))
    if origin is Mapping or (
        isinstance(annotation, type) and issubclass(annotation, SettingsSection)
    ):
        with suppress(ValueError):
            return json.loads(text)
    if origin is tuple:
        return tuple(item.strip() for item in text.split(",") if item.strip())
    return text


def _find_declared_type(place: Sequence[int | str]) -> Any:
    """Return the declared type of a setting, given its keys; None if there is no such setting."""
    annotation: Any = Settings
    for step in place:
        if get_origin(annotation) is Mapping:  # such as prices by model name
            annotation = get_args(annotation)[1]
        elif isinstance(step, int):  # an index into a list of tables
            annotation = get_args(annotation)[0]
        else:
            field = getattr(annotation, "model_fields", {}).get(step)
            annotation = field.annotation if field else None
    return annotation


def _explain_validation_error(error: ValidationError) -> str:
    problems = []
    for item in error.errors():
        place = ".".join(str(step) for step in item["loc"]) or "settings"
        if item["type"] == "extra_forbidden":
            problems.append(f"unknown setting {place}{_suggest_setting(item['loc'])}")
        else:
            message = item["msg"].removeprefix("Value error, ")
            found = "" if item["type"] == "value_error" else f" (it is {item['input']!r})"
            problems.append(hide_credentials(f"{place}: {message}{found}"))
    return "; ".join(problems)


def _suggest_setting(place: Sequence[int | str]) -> str:
    fields = _find_declared_type(place[:-1]).model_fields
    close = difflib.get_close_matches(str(place[-1]), list(fields), n=1)
    return f"; did you mean {close[0]}?" if close else ""
