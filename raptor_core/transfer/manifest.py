"""JSON of an export's manifest; its values are in ``values.py``."""

import json
from dataclasses import asdict
from typing import Any

from raptor_core.errors import DamagedTreeError, ExportError
from raptor_core.identity import digest
from raptor_core.layout import EXPORT_FORMAT
from raptor_core.store.base import StoreIdentity
from raptor_core.store.payload import manifest_to_payload, payload_to_manifest
from raptor_core.transfer.values import Export, Stamp, TableFile, TreeFile

VERSION = 1
"""Version of the layout and of the columns; every other one is refused."""


def encode(export: Export) -> bytes:
    """Return the manifest's file, which ends with a digest of all fields above it."""
    values = {
        "format": EXPORT_FORMAT,
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
    """Return the export of a manifest's file ``where``; raise ExportError if it is damaged."""
    try:
        values = json.loads(data)
    except ValueError as error:
        raise ExportError(f"{where} is damaged or cut short; copy it again") from error
    if not isinstance(values, dict) or values.get("format") != EXPORT_FORMAT:
        raise ExportError(f"{where} was not written by `raptor export`")
    if (version := values.get("version")) != VERSION:
        raise ExportError(
            f"{where} has version {version!r:.40} and this program reads {VERSION}; import with "
            "the program that exported"
        )
    if values.pop("digest", None) != _digest(values):
        raise ExportError(f"{where} is damaged: its digest is another; copy or export it again")
    try:
        return Export(
            identity=StoreIdentity(**values["identity"]),
            trees=tuple(TreeFile(payload_to_manifest(v), _stamp(v)) for v in values["trees"]),
            made_at=values["made_at"],
            grouping=values["grouping"],
            tables=tuple(
                TableFile(tuple(v["key"]), v["partition"], _stamp(v)) for v in values["tables"]
            ),
        )
    except (KeyError, TypeError, DamagedTreeError) as error:
        raise ExportError(f"{where} holds what no manifest does: {error}; export again") from error


def _stamp(values: dict[str, Any]) -> Stamp:
    return Stamp(values["n_bytes"], values["sha256"])


def _digest(values: dict[str, Any]) -> str:
    return digest("export manifest", json.dumps(values, sort_keys=True))
