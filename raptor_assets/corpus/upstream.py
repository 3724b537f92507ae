"""Source of a corpus whose documents or chunks come from an upstream asset of the team.

The home keeps the last documents as a table of rows, or the path that the asset named. The sensor,
the command and runs then read the same documents without loading the asset.
"""

import json
import shutil
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from raptor_assets.assets.specs import build_source_spec
from raptor_assets.chain.events import to_check_result
from raptor_assets.chain.provenance import INITIAL_VERSION, MATERIALIZED
from raptor_assets.corpus.changes import PartitionChange, decide_run
from raptor_assets.home.access import CorpusAccess
from raptor_core.checks.base import apply_severities
from raptor_core.checks.document_text import unread_rows
from raptor_core.disk import os_error_remedy, replace_file
from raptor_core.documents import Document, Inventory
from raptor_core.errors import SourceError
from raptor_core.file_names import ROWS, ROWS_PLACE
from raptor_core.settings import Settings
from raptor_formats.base import READERS
from raptor_formats.declared import CHUNKS, resembles_readers_key

Upstream = dg.AssetKey | str | list[str] | dg.AssetsDefinition | dg.AssetSpec
"""Asset in any form; in a string, slashes separate the parts of the key."""


class SourceConfig(dg.Config):
    """Configuration of a materialization of the source."""

    confirm_removal: bool = Field(
        default=False, description="Documents that are missing are gone on purpose, however many."
    )


def build_source_asset(
    upstream: Upstream, path_entry: str | None, access: CorpusAccess, *, of_chunks: bool = False
) -> dg.AssetsDefinition:
    """Return the asset that copies the documents of an upstream asset after each materialization.

    It fails and leaves the source as it was if there are no documents, or if a person has to
    confirm a removal (``SourceConfig``). Its check fails if a row is left out. ``path_entry``
    names the entry of the upstream's metadata with a file, a folder or a URL; without it the
    documents are the upstream's value, or its chunks, see ``group_chunks_by_document``.
    """
    named = dg.AssetKey.from_user_string(upstream) if isinstance(upstream, str) else upstream
    key, spec = dg.AssetDep(named).asset_key, build_source_spec(access.names, access.settings)

    @dg.multi_asset(
        name=access.names.full_name("source"),
        specs=[spec.replace_attributes(deps=[key])],
        check_specs=[
            dg.AssetCheckSpec(
                check.name,
                asset=spec.key,
                description=check.description,
                blocking=check.is_blocking,
            )
            for check in apply_severities([unread_rows], access.settings.checks)
        ],
        ins={} if path_entry else {"upstream": dg.AssetIn(key)},
    )
    def source(
        context: dg.AssetExecutionContext, config: SourceConfig, **inputs: Any
    ) -> Iterator[dg.MaterializeResult[Any]]:
        access.home.check_owner(access.names.corpus)
        folder, is_confirmed = access.home.upstream_folder, config.confirm_removal
        seen = _latest_storage_id(context.instance, key)
        with _name_upstream_in_errors(key), _restore_on_failure(folder):
            if path_entry:
                paths = _read_paths_from_metadata(context.instance, key, path_entry)
                _write_source(folder, {"paths": paths}, is_confirmed=is_confirmed)
            else:
                rows = list(to_rows(inputs["upstream"], access.settings))
                if of_chunks:
                    rows = group_chunks_by_document(rows, access.settings)
                if not rows:
                    raise SourceError(_NO_ROWS)
                replace_source_rows(folder, rows, is_confirmed=is_confirmed)
            inventory = access.source.complete_inventory()
            metadata = _source_metadata(context.instance, access, inventory)
            verdict = unread_rows(inventory.skipped, len(inventory.documents))
            checked = apply_severities([verdict], access.settings.checks)
            _write_atomically(
                folder / SEEN, json.dumps({"upstream": list(key.path), "event": seen})
            )
        access.write_declaration()
        yield dg.MaterializeResult(
            metadata=metadata,
            check_results=list(map(to_check_result, checked)),
            # The documents say by themselves what changed.
            data_version=dg.DataVersion(INITIAL_VERSION),
        )

    return source


SEEN = "upstream.json"
"""File with the upstream asset's materialization that the source was copied from."""


def _latest_storage_id(instance: dg.DagsterInstance, key: dg.AssetKey) -> int:
    """Return the storage id of the latest materialization of an asset, 0 without one."""
    records = instance.fetch_materializations(key, limit=1).records
    return records[0].storage_id if records else 0


def explain_older_than_upstream(access: CorpusAccess, instance: dg.DagsterInstance) -> str:
    """Return why the documents of a corpus are older than its upstream asset, or "".

    A run that used them would report success although it built from old documents.
    """
    file = access.home.upstream_folder / SEEN
    if not (access.names.has_upstream and file.exists()):
        return ""
    seen = json.loads(file.read_text(encoding="utf-8"))
    key, source = dg.AssetKey(seen["upstream"]), access.names.source.key_text
    if _latest_storage_id(instance, key) <= seen["event"]:
        return ""
    return (
        f"{key.to_user_string()} was materialized after {source}, so this corpus does not have its "
        f"latest documents yet. Materialize {source} first, or launch a job over both assets"
    )


_NO_ROWS = (
    "it gave no row, and a document is expected. The source stays as it was; materialize the asset "
    "with its rows, or remove all trees by the job drop_partitions"
)


@contextmanager
def _name_upstream_in_errors(upstream: dg.AssetKey) -> Iterator[None]:
    """Name the upstream asset in errors of its documents."""
    try:
        yield
    except SourceError as error:
        raise SourceError(f"upstream asset {upstream.to_user_string()}: {error}") from None


def to_rows(value: Any, settings: Settings) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a data frame, of documents, or of several by partition key."""
    if hasattr(value, "to_pandas"):
        value = value.to_pandas()
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        _check_columns(list(value.columns), len(value), settings)
        # Missing values are null in a row, not a text such as "nan" or "NaT".
        yield from value.astype(object).where(value.notna(), None).to_dict("records")
    elif isinstance(value, Mapping) and settings.source.text_field in value:
        yield value
    elif isinstance(value, Document):
        row = {"id": value.id, "text": value.text, "title": value.title, READERS: value.readers}
        yield {**row, "metadata": value.metadata}
    elif hasattr(value, "page_content"):
        yield {"id": value.id, "text": value.page_content, "metadata": dict(value.metadata)}
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from to_rows(part, settings)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for part in value:
            yield from to_rows(part, settings)
    else:
        raise SourceError(
            f"the upstream asset gave {type(value).__name__}; expected a data frame, or a list of "
            f"documents or of rows with {settings.source.text_field!r}. If its metadata name a "
            "file or folder, set the entry as upstream_path"
        )


def _check_columns(columns: list[Any], n_rows: int, settings: Settings) -> None:
    text = settings.source.text_field
    if sum(map(resembles_readers_key, columns)) > 1:
        raise SourceError(
            f"the upstream asset gave a data frame with several columns like {READERS!r}; rename "
            "all but one. The source stays as it was"
        )
    if n_rows and text not in columns:
        raise SourceError(
            f"the upstream asset gave a data frame without the column {text!r} "
            f"(source.text_field); its columns: {', '.join(map(str, columns))}. The source stays "
            "as it was"
        )


_CHUNK_COLUMNS = ("id", "document", "position")


def group_chunks_by_document(
    rows: Iterable[Mapping[str, Any]], settings: Settings
) -> list[Mapping[str, Any]]:
    """Group rows of chunks by their ``document``, and return one row for each document.

    Raises:
        SourceError: a row lacks a column, or names no document.
    """
    chunks: dict[Any, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows, start=1):
        text = settings.source.text_field
        if missing := [name for name in (*_CHUNK_COLUMNS, text) if name not in row]:
            raise SourceError(
                f"row {number} lacks {', '.join(map(repr, missing))}; a chunk has id, document, "
                f"position and {text}; its columns: {', '.join(map(str, row))}"
            )
        chunk = dict(row)
        document = chunk.pop("document")
        if document in ("", None) or not isinstance(document, Hashable):
            raise SourceError(f"row {number} has the document {document!r:.60}, expected an id")
        chunks.setdefault(document, []).append(chunk)
    id_field = "id" if settings.source.id_field == "auto" else settings.source.id_field
    return [{id_field: document, CHUNKS: members} for document, members in chunks.items()]


def replace_source_rows(
    folder: Path, rows: Iterable[Mapping[str, Any]], *, is_confirmed: bool = False
) -> None:
    """Replace the source of a home by rows."""
    lines = "".join(
        f"{json.dumps(row, ensure_ascii=False, default=_to_plain_value)}\n" for row in rows
    )
    _write_atomically(folder / ROWS, lines)
    _write_source(folder, {"rows": ROWS}, is_confirmed=is_confirmed)


def _write_source(folder: Path, source: Mapping[str, Any], *, is_confirmed: bool) -> None:
    _write_atomically(folder / ROWS_PLACE, json.dumps({**source, "is_confirmed": is_confirmed}))


@contextmanager
def _restore_on_failure(folder: Path) -> Iterator[None]:
    """Restore the source of a home if the block fails."""
    copies = {folder / name: folder / f"{name}.previous" for name in (ROWS, ROWS_PLACE)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, copy in copies.items():
            if path.exists():
                shutil.copy2(path, copy)
    except OSError as error:
        raise SourceError(
            f"cannot write {folder}: {error}; free space, or fix its rights"
        ) from error
    try:
        yield
    except BaseException:
        for path, copy in copies.items():
            path.unlink(missing_ok=True)
            if copy.exists():
                copy.replace(path)
        raise
    finally:
        for copy in copies.values():
            copy.unlink(missing_ok=True)


def _write_atomically(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise SourceError(f"cannot write {path}: {error}; {os_error_remedy(error)}") from error


def _to_plain_value(value: object) -> object:
    """Convert dates to ISO text, numpy numbers to Python numbers, and anything else to text."""
    for name in ("isoformat", "tolist"):
        if hasattr(value, name):
            return getattr(value, name)()
    return str(value)


def _read_paths_from_metadata(
    instance: dg.DagsterInstance, key: dg.AssetKey, path_entry: str
) -> list[str]:
    """Return the paths that the latest materialization of each partition names."""
    ids = instance.get_latest_storage_id_by_partition(key, MATERIALIZED).values()
    query = dg.AssetRecordsFilter(key, storage_ids=list(ids)) if ids else key
    materializations = instance.fetch_materializations(query, limit=len(ids) or 1).records
    asset, paths = key.to_user_string(), []
    for record in reversed(materializations):
        event = record.asset_materialization
        entry = event.metadata.get(path_entry) if event else None
        if entry is None or not isinstance(entry.value, str):
            raise SourceError(
                f"the latest materialization of {asset} has no entry {path_entry!r} in "
                "its metadata that names a path; add it, or set another upstream_path"
            )
        paths.append(entry.value)
    if not paths:
        raise SourceError(f"{asset} was not materialized yet; materialize it first")
    return list(dict.fromkeys(paths))


def _source_metadata(
    instance: dg.DagsterInstance, access: CorpusAccess, inventory: Inventory
) -> dict[str, Any]:
    """Return numbers of documents and partitions to build; raise for an unconfirmed removal."""
    begun = instance.get_dynamic_partitions(access.names.partitions_name)
    decision = decide_run(access, begun, inventory)
    changes = decision.changes
    if changes.removal_doubt:
        raise SourceError(
            f"{changes.removal_doubt}. Nothing is removed, and the source stays as it was. "
            "Correct what "
            "the upstream asset gives, or materialize this asset with `confirm_removal: true` in "
            "its configuration"
        )
    if decision.refusal:
        raise decision.refusal
    skipped = [f"{item.name}: {item.reason}" for item in inventory.skipped]
    counted = (PartitionChange.NEW, PartitionChange.CHANGED, PartitionChange.REMOVED)
    return {
        "dagster/row_count": len(inventory.documents),
        **{f"partitions_{state.value}": len(changes.partitions_in(state)) for state in counted},
        "paths": access.source.settings.shown_paths(),
        **({"not_read": skipped} if skipped else {}),
    }
