"""JSON schema of the settings in a component's YAML, for editors and ``dg check yaml``.

The settings themselves check values when they load, and say more; see ``raptor_core.settings``.
"""

from collections.abc import Mapping
from typing import Any

from raptor_core.settings import Settings
from raptor_core.settings.base import SettingsSection

_TEMPLATE = {"type": "string", "pattern": r"\{\{|^none$"}
"""Schema of a template of Dagster, and of "none", which is no bound."""


def add_settings_schema(schema: dict[str, Any]) -> None:
    """Add sections and keys of the settings to the schema of a field that also takes a path."""
    settings = Settings.model_json_schema()
    sections = _resolve_references(settings, settings.pop("$defs"))
    for name, field in Settings.model_fields.items():
        section, model = sections["properties"][name], field.annotation
        if not isinstance(model, type) or not issubclass(model, SettingsSection):
            continue
        section["description"] = section.get("description", "").partition("\n")[0]
    schema |= {name: sections[name] for name in ("properties", "additionalProperties")}


def _resolve_references(
    schema: Mapping[str, Any], definitions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a schema without references whose values may also be templates."""
    if reference := schema.get("$ref"):
        return _resolve_references(definitions[reference.rpartition("/")[2]], definitions)
    expanded = {key: value for key, value in schema.items() if key not in ("title", "required")}
    if "properties" in schema:
        parts = schema["properties"].items()
        return {
            **expanded,
            "properties": {name: _resolve_references(v, definitions) for name, v in parts},
        }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            expanded[key] = _resolve_references(schema[key], definitions)
    if schema.get("type") == "object":
        return expanded
    return {"anyOf": [expanded, _TEMPLATE]}
