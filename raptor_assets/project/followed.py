"""The source of a corpus whose documents an asset of the team's own gives.

What that asset gave last is kept in the home, as a table of rows or as the place that it named. So
the sensor, the command and every run read the same, and none of them loads what the asset made.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import DEFAULT_DATA_VERSION

from raptor_assets.project.records import DagsterRecords
from raptor_assets.project.resources import Resources
from raptor_assets.provenance import MATERIALIZED
from raptor_core.disk import replace_file
from raptor_core.documents import Document
from raptor_core.errors import EmptySourceError, SourceError
from raptor_core.settings import Settings

Upstream = dg.AssetKey | str | list[str] | dg.AssetsDefinition | dg.AssetSpec
"""An asset, however it is named."""


def build_source_asset(
    spec: dg.AssetSpec, upstream: Upstream, path_entry: str | None, resources: Resources
) -> dg.AssetsDefinition:
    """The asset that takes over what an upstream asset gives, whenever that is materialized.

    ``path_entry`` names the entry of the upstream's metadata that holds a file, a folder or a URL;
    without it documents are its value, as its IO manager loads it.
    """
    key = dg.AssetDep(upstream).asset_key

    @dg.multi_asset(
        name=resources.names.of("source"),
        specs=[spec.replace_attributes(deps=[key])],
        ins={} if path_entry else {"upstream": dg.AssetIn(key)},
    )
    def source(context: dg.AssetExecutionContext, **inputs: Any) -> dg.MaterializeResult[Any]:
        resources.home.check_owner(resources.names.corpus)
        if path_entry:
            told = {"paths": _named_paths(context.instance, key, path_entry)}
            _write(resources.home.followed / "source.json", json.dumps(told))
        else:
            keep_rows(resources.home.followed, rows_of(inputs["upstream"], resources.settings))
        resources.declare()
        return dg.MaterializeResult(
            metadata=_told(context.instance, resources),
            # Its partitions tell by their documents what changed; that it was read says nothing.
            data_version=DEFAULT_DATA_VERSION,
        )

    return source


def rows_of(value: Any, settings: Settings) -> Iterator[Mapping[str, Any]]:
    """The rows of a data frame, of a list of documents, or of several such by partition key.

    Raises:
        SourceError: it is something else.
    """
    if hasattr(value, "to_pandas"):
        value = value.to_pandas()
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        # What is missing is null in a row, and no text such as "nan" or "NaT".
        yield from value.astype(object).where(value.notna(), None).to_dict("records")
    elif isinstance(value, Mapping) and settings.source.text_field in value:
        yield value
    elif isinstance(value, Document):
        metadata = dict(value.metadata)
        yield {"id": value.id, "text": value.text, "title": value.title, "metadata": metadata}
    elif hasattr(value, "page_content"):
        yield {"id": value.id, "text": value.page_content, "metadata": dict(value.metadata)}
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from rows_of(part, settings)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for part in value:
            yield from rows_of(part, settings)
    else:
        raise SourceError(
            f"the upstream asset gave {type(value).__name__}; expected a data frame, or a list of "
            f"documents or of rows with {settings.source.text_field!r}. Where it names a file or "
            "folder in its metadata, give the entry as upstream_path"
        )


def keep_rows(folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Keep rows as the source of a home, in place of what was kept."""
    lines = "".join(f"{json.dumps(row, ensure_ascii=False, default=_plain)}\n" for row in rows)
    table = folder / "documents.jsonl"
    _write(table, lines)
    _write(folder / "source.json", json.dumps({"rows": str(table)}))


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise SourceError(f"cannot write {path}: {error}; free space, or fix its rights") from error


def _plain(value: object) -> object:
    """What JSON has no form for: moments as ISO text, numbers of numpy, all else as text."""
    for name in ("isoformat", "tolist"):
        if hasattr(value, name):
            return getattr(value, name)()
    return str(value)


def _named_paths(instance: dg.DagsterInstance, key: dg.AssetKey, path_entry: str) -> list[str]:
    """Paths in the metadata of the latest materialization, of each partition where there are any.

    Raises:
        SourceError: there is none, or it does not name one.
    """
    ids = instance.get_latest_storage_id_by_partition(key, MATERIALIZED).values()
    wanted = dg.AssetRecordsFilter(key, storage_ids=list(ids)) if ids else key
    materializations = instance.fetch_materializations(wanted, limit=len(ids) or 1).records
    asset, paths = key.to_user_string(), []
    for record in reversed(materializations):
        told = record.asset_materialization
        entry = told.metadata.get(path_entry) if told else None
        if entry is None or not isinstance(entry.value, str):
            raise SourceError(
                f"the latest materialization of {asset} has no entry {path_entry!r} in "
                "its metadata that names a path; add it, or give another upstream_path"
            )
        paths.append(entry.value)
    if not paths:
        raise SourceError(f"{asset} was not materialized yet; materialize it first")
    return list(dict.fromkeys(paths))


def _told(instance: dg.DagsterInstance, resources: Resources) -> dict[str, Any]:
    """What was found, and what of it is not built yet."""
    try:
        inventory = resources.source.inventory()
    except EmptySourceError:
        return {"dagster/row_count": 0}
    records = DagsterRecords(instance, resources.names)
    changes = resources.changes(records, inventory=inventory)
    skipped = [f"{item.name}: {item.reason}" for item in inventory.skipped]
    return {
        "dagster/row_count": sum(1 for _ in inventory.documents.ids()),
        "partitions_new": len(changes.new),
        "partitions_changed": len(changes.changed),
        "partitions_removed": len(changes.removed),
        "paths": resources.source.settings.shown_paths(),
        **({"not_read": skipped} if skipped else {}),
    }
