"""Text of a new settings file: settings with their meanings, as comments.

Each part in ``raptor_core.settings`` says which of its settings are common.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence

import tomlkit
from pydantic import BaseModel

from raptor_core import settings as core_settings
from raptor_core.settings import Settings
from raptor_core.settings.base import NO_BOUND, SettingsSection

_HEADER = """\
# Settings of raptor. A line that starts with # shows a default; remove the # to change it.
# Environment variables override this file: RAPTOR_CHUNKING__MAX_TOKENS=80.
"""
_MORE = "# These are the settings that most people change; `raptor init --all` writes every one.\n"


def to_settings_text(
    *,
    sources: Sequence[str],
    preset: str,
    group_by: str,
    is_complete: bool = False,
    local_model: str = "",
) -> str:
    """Write the settings file of a new home, with every setting if ``is_complete``.

    ``local_model`` is the file of the model that writes summaries and answers; "" is none.
    """
    values = core_settings.preset(preset)
    lines = [_HEADER if is_complete else _HEADER + _MORE, f'preset = "{preset}"', ""]
    chosen: dict[str, dict[str, object]] = {
        "source": {"paths": list(sources)},
        "grouping": {"by": group_by},
    }
    if local_model:
        local: dict[str, object] = {"kind": "local", "model": local_model}
        chosen |= {"summarizer": {**local, "foreign_facts": "strict"}, "reader": local}
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if not isinstance(model, type) or not issubclass(model, SettingsSection):
            lines += [f"[{section}]", *_key_lines(section, Settings), ""]
            continue
        lines += _section_lines(
            section,
            model,
            getattr(values, section),
            chosen.get(section, {}),
            is_complete=is_complete,
        )
    return "\n".join(lines)


def add_sources_to_text(text: str, sources: Sequence[str]) -> str:
    """Return the settings file with more ``source.paths``; the rest stays as it is."""
    document = tomlkit.parse(text)
    table = document.setdefault("source", tomlkit.table())
    paths = table.setdefault("paths", tomlkit.array())
    for source in sources:
        paths.append(source)
    return tomlkit.dumps(document)


def _section_lines(
    name: str,
    model: type[SettingsSection],
    defaults: BaseModel,
    chosen: Mapping[str, object],
    *,
    is_complete: bool,
) -> Iterator[str]:
    common = model.flagged_settings("common")
    declared = [key for key in inspect.get_annotations(model) if key in model.model_fields]
    keys = [*declared, *(key for key in model.model_fields if key not in declared)]
    keys = [key for key in keys if is_complete or key in common or key in chosen]
    if not keys:
        return
    doc = inspect.getdoc(model) or ""
    yield f"# {doc.splitlines()[0]}"
    yield f"[{name}]"
    for key in keys:
        yield from _key_lines(key, model, "" if key in common else " (advanced)")
        if key in chosen:
            yield f"{key} = {_to_toml(chosen[key])}"
        else:
            yield f"# {key} = {_to_toml(getattr(defaults, key))}"
    yield ""


def _key_lines(key: str, model: type[BaseModel], mark: str = "") -> Iterator[str]:
    meaning = model.model_fields[key].description or ""
    if meaning:
        yield f"# {key}{mark}: {' '.join(meaning.split())}"


def _to_toml(value: object) -> str:
    if value is None:
        return f'"{NO_BOUND}"'
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()
