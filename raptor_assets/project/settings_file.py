"""The text of a new settings file: every setting with its meaning, as a comment."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence

import tomlkit
from pydantic import BaseModel

from raptor_core import settings as core_settings
from raptor_core.settings import Settings
from raptor_core.settings.base import NO_BOUND

_HEADER = """\
# Settings of raptor. A line that starts with # shows a default; remove the # to change it.
# Environment variables override this file: RAPTOR_CHUNKING__MAX_TOKENS=80.
"""


def settings_text(*, sources: Sequence[str], preset: str, group_by: str) -> str:
    """The commented settings file of a new home."""
    values = core_settings.preset(preset)
    lines = [_HEADER, f'preset = "{preset}"', ""]
    given: dict[str, dict[str, object]] = {
        "source": {"paths": list(sources)},
        "grouping": {"by": group_by},
    }
    for section, field in Settings.model_fields.items():
        model = field.annotation
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            lines += [f"[{section}]", *_explained(section, Settings), ""]
            continue
        lines += _section(section, model, getattr(values, section), given.get(section, {}))
    return "\n".join(lines)


def add_sources(text: str, sources: Sequence[str]) -> str:
    """The settings file with more ``source.paths``; everything else stays as it was."""
    document = tomlkit.parse(text)
    table = document.setdefault("source", tomlkit.table())
    paths = table.setdefault("paths", tomlkit.array())
    for source in sources:
        paths.append(source)
    return tomlkit.dumps(document)


def _section(
    name: str, model: type[BaseModel], defaults: BaseModel, given: Mapping[str, object]
) -> Iterator[str]:
    doc = inspect.getdoc(model) or ""
    yield f"# {doc.splitlines()[0]}"
    yield f"[{name}]"
    own = [key for key in inspect.get_annotations(model) if key in model.model_fields]
    for key in [*own, *(key for key in model.model_fields if key not in own)]:
        yield from _explained(key, model)
        if key in given:
            yield f"{key} = {_toml(given[key])}"
        else:
            yield f"# {key} = {_toml(getattr(defaults, key))}"
    yield ""


def _explained(key: str, model: type[BaseModel]) -> Iterator[str]:
    told = (dict(_meanings(inspect.getdoc(base) or "")) for base in model.__mro__)
    meaning = next((meanings[key] for meanings in told if key in meanings), None)
    if meaning:
        yield f"# {key}: {meaning}"


def _meanings(doc: str) -> Iterator[tuple[str, str]]:
    _, _, attributes = doc.partition("Attributes:\n")
    folded = re.sub(r"\n {8,}", " ", attributes)
    for names, meaning in re.findall(r"^ {4}([\w, ]+): (.+)$", folded, re.MULTILINE):
        for name in names.split(","):
            yield name.strip(), meaning


def _toml(value: object) -> str:
    if value is None:
        return f'"{NO_BOUND}"'
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update(value)
        return table.as_string()
    return tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string()
