"""The JSON of an export's manifest: how it is written, and what is checked when it is read.

An export may come from anybody. So every field has a type and bounds, and nothing else may stand
in the file. The values are in ``values.py``; the rows of trees are checked in ``checks.py``.
"""

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from raptor_core.errors import ExportError
from raptor_core.identity import MAX_ID_BYTES, digest, n_bytes
from raptor_core.layout import EXPORT_FORMAT
from raptor_core.nodes import Fit
from raptor_core.store.base import Manifest, StoreIdentity
from raptor_core.store.payload import manifest_to_payload
from raptor_core.transfer.values import Export, Stamp, TableFile, TreeFile

FORMAT = EXPORT_FORMAT
VERSION = 1
"""Version of the layout and of the columns; a newer one is refused."""
MAX_BYTES = 2**29
"""Size of the largest manifest that is read: that of some 100,000 trees with their tables."""
_BYTES_PER_BRACKET = 48
"""Bytes that a manifest has at least for each list or object in it; reading one takes 300."""
_MAX_LAYERS = 100
_MAX_DIMS = 2**16

Model = TypeVar("Model", bound=BaseModel)
Count = Annotated[int, Field(ge=0, le=2**48)]


def _bounded(name: str) -> str:
    if n_bytes(name) > MAX_ID_BYTES:
        raise ValueError(f"it has {n_bytes(name):,} bytes, and {MAX_ID_BYTES:,} are the most")
    return name


Id = Annotated[str, AfterValidator(_bounded)]
"""Name of a tree, or id of a document, within the bound of sources."""


class _Stored(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _StoredFit(_Stored):
    fingerprint: str
    n_placed: Count
    fitted_cohesion: float
    cohesion: float
    reason: str


class _StoredManifest(_Stored):
    build_id: str
    layer_sizes: list[Annotated[int, Field(ge=1, le=2**31)]] = Field(
        min_length=1, max_length=_MAX_LAYERS
    )
    n_tokens: Count
    documents: list[Annotated[list[Id], Field(min_length=2, max_length=2)]]
    end: str
    settings_fingerprint: str
    published_at: str
    fits: str
    quarantined: str
    title: str = ""


class _StoredStamp(_Stored):
    n_bytes: Count
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _StoredTree(_StoredStamp):
    state: Literal["manifest"]
    tree: Id
    content_key: str
    mark: str
    manifest: _StoredManifest


class _StoredTable(_StoredStamp):
    key: list[str] = Field(min_length=1)
    partition: str


class _StoredIdentity(_Stored):
    corpus: str
    embedder_model: str
    embedder_fingerprint: str
    n_dims: Annotated[int, Field(ge=1, le=_MAX_DIMS)]


class _StoredExport(_Stored):
    format: Literal["raptor-export"]
    version: Annotated[int, Field(ge=1)]
    made_at: str
    identity: _StoredIdentity
    grouping: dict[str, Any]
    trees: list[Any]
    tables: list[Any]


_FITS: TypeAdapter[list[_StoredFit]] = TypeAdapter(list[_StoredFit])
_IDS: TypeAdapter[list[str]] = TypeAdapter(list[str])


def encode(export: Export) -> bytes:
    """Return the manifest's file, which ends with a digest of all fields above it."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "made_at": export.made_at,
        "identity": asdict(export.identity),
        "grouping": dict(export.grouping),
        "trees": [
            {**manifest_to_payload(tree.manifest), **asdict(tree.stamp)} for tree in export.trees
        ],
        "tables": [
            {"key": list(t.key), "partition": t.partition, **asdict(t.stamp)} for t in export.tables
        ],
    }
    return json.dumps({**values, "digest": _digest(values)}, indent=1).encode()


def decode(data: bytes, where: str) -> Export:
    """Return the export of a manifest's file ``where``; raise ExportError if it is wrong."""
    values = _load(data, where)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ExportError(f"{where} was not written by `raptor export`")
    version = values.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ExportError(
            f"{where} has version {version!r:.40} and this program reads up to {VERSION}; import "
            "with the program that exported, or a newer one"
        )
    stated = values.pop("digest", None)
    try:
        stored = _checked(_StoredExport, values, where)
        json.dumps(values, ensure_ascii=False).encode()
        if stated != _digest(values):
            raise ExportError(f"{where} is damaged: its digest is another; copy or export it again")
        export = _export(stored, where)
    except (RecursionError, UnicodeEncodeError) as error:
        raise ExportError(f"{where} holds what no manifest does: {error}") from error
    _check_distinct((tree.manifest.tree for tree in export.trees), where, "tree")
    _check_distinct(((table.key, table.partition) for table in export.tables), where, "table")
    return export


def _load(data: bytes, where: str) -> Any:
    """Return the JSON value of a manifest, whose lists and objects take bounded memory."""
    n_brackets = data.count(b"[") + data.count(b"{")
    if n_brackets * _BYTES_PER_BRACKET > len(data) + 2**16:
        raise ExportError(f"{where} is no manifest: {n_brackets} brackets in {len(data)} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{where} is damaged or cut short; copy it again") from error


def _checked(model: type[Model], values: Any, where: str, path: str = "") -> Model:
    """Return the values as a model of them; ``path`` names their place in the file."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _wrong(error, where, path) from error


def _wrong(error: ValidationError, where: str, path: str) -> ExportError:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))
    return ExportError(f"{where}: {path}{field}: {first['msg']}; export again")


def _export(stored: _StoredExport, where: str) -> Export:
    trees = []
    for number, values in enumerate(stored.trees):
        path = f"trees.{number}."
        tree = _checked(_StoredTree, values, where, path)
        try:
            trees.append(TreeFile(_manifest(tree, where), _stamp(tree)))
        except ValidationError as error:
            raise _wrong(error, where, path) from error
    tables = [
        _checked(_StoredTable, values, where, f"tables.{number}.")
        for number, values in enumerate(stored.tables)
    ]
    return Export(
        identity=StoreIdentity(**stored.identity.model_dump()),
        trees=tuple(trees),
        made_at=stored.made_at,
        grouping=stored.grouping,
        tables=tuple(TableFile(tuple(t.key), t.partition, _stamp(t)) for t in tables),
    )


def _manifest(tree: _StoredTree, where: str) -> Manifest:
    stored = tree.manifest
    _check_distinct((document for document, _ in stored.documents), where, "document")
    parsed: dict[str, Any] = {
        "layer_sizes": tuple(stored.layer_sizes),
        "documents": dict(stored.documents),
        "fits": tuple(Fit(**fit.model_dump()) for fit in _FITS.validate_json(stored.fits)),
        "quarantined": tuple(_IDS.validate_json(stored.quarantined)),
    }
    return Manifest(tree.tree, **{**stored.model_dump(), **parsed})


def _stamp(stored: _StoredStamp) -> Stamp:
    return Stamp(stored.n_bytes, stored.sha256)


def _check_distinct(names: Iterable[Hashable], where: str, kind: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ExportError(f"{where} lists the {kind} {repeated[0]!r} more than once; export again")


def _digest(values: dict[str, Any]) -> str:
    return digest("export manifest", json.dumps(values, sort_keys=True))
