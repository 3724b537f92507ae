"""The text of Dagster's events as it is kept in SQLite: deflated, to an eighth of its JSON.

Most of an event's JSON is the same in all of them: a dictionary that holds it does more than the
method. Whoever reads the tables by SQL unpacks; what an earlier version wrote is plain text.
"""

from __future__ import annotations

import zlib

_ENTRY = '{"__class__": "EventMetadataEntry", "description": null, "entry_data": {"__class__": '
_EVENT = (
    '{"__class__": "EventLogEntry", "dagster_event": {"__class__": "DagsterEvent", '
    '"event_specific_data": {"__class__": '
)
_KEY = '"asset_key": {"__class__": "AssetKey", "path": ["layer_1", "summaries"]}, '
_DICTIONARY = "".join(
    (
        _ENTRY,
        '"MarkdownMetadataEntryData", "md_str": "| tree | tokens | children | text |\\n| --- |',
        '{"__class__": "TextMetadataEntryData", "text": "built"}, "label": "state"}, ',
        '{"__class__": "FloatMetadataEntryData", "value": 1.0}, "label": "tokens_mean"}, ',
        _ENTRY,
        '"IntMetadataEntryData", "value": 1}, "label": "dagster/row_count"}, ',
        _ENTRY,
        '"BoolMetadataEntryData", "value": false}, "label": "reused"}, ',
        _ENTRY,
        '"FloatMetadataEntryData", "value": 0.0}, "label": "seconds"}], "partition": "", ',
        '"tags": {"dagster/code_version": "", "dagster/data_version": "", ',
        '"dagster/data_version_is_user_provided": "true", ',
        '"dagster/input_data_version/layer_1/findings": "INITIAL", ',
        '"dagster/input_event_pointer/layer_1/embeddings": "NULL", ',
        _EVENT,
        '"AssetMaterializationPlannedData", "partition": "", "partitions_subset": null}, ',
        '"event_type_value": "ASSET_MATERIALIZATION_PLANNED", "logging_tags": {}, "message": ',
        '"build intends to materialize asset [\\"tree\\"]", "pid": null, "solid_handle": null, ',
        _EVENT,
        '"StepMaterializationData", "asset_lineage": [], "materialization": {"__class__": ',
        f'"AssetMaterialization", {_KEY}"description": null, "metadata_entries": [{_ENTRY}',
        '"event_type_value": "ASSET_MATERIALIZATION", "message": "Materialized value layer_1 ',
        f'{_EVENT}"AssetCheckEvaluation", {_KEY}"blocking": false, "check_name": "", ',
        '"description": "0 of 1 summaries", "metadata": {"summaries": ',
        '{"__class__": "FloatMetadataEntryData", "value": 0.0}, "worst_nodes": ',
        '{"__class__": "MarkdownMetadataEntryData", "md_str": ""}}, "partition": "", ',
        '"severity": {"__enum__": "AssetCheckSeverity.ERROR"}, ',
        '"severity": {"__enum__": "AssetCheckSeverity.WARN"}, "success": true, ',
        '"target_materialization_data": {"__class__": ',
        '"AssetCheckEvaluationTargetMaterializationData", "run_id": "", "storage_id": 1, ',
        '"timestamp": 17}}, "event_type_value": "ASSET_CHECK_EVALUATION", ',
        '"logging_tags": {"job_name": "build", "op_name": "raptor", "resource_fn_name": "None", ',
        '"resource_name": "None", "run_id": "", "step_key": "raptor"}, "message": "Asset check ',
        "'' on 'layer_1/summaries' passed. Description: '\", ",
        '"pid": 1, "pipeline_name": "build", "solid_handle": {"__class__": "SolidHandle", "name": ',
        '"raptor", "parent": null}, "step_handle": {"__class__": "StepHandle", "key": "raptor", ',
        '"solid_handle": {"__class__": "SolidHandle", "name": "raptor", "parent": null}}, ',
        '"step_key": "raptor", "step_kind_value": "COMPUTE"}, "error_info": null, "level": 10, ',
        '"message": "", "pipeline_name": "build", "run_id": "", "step_key": "raptor", ',
        '"timestamp": 17, "user_message": "Materialized value Asset check \'\' on \'layer_1/',
    )
).encode()
"""Never to be changed: what was packed with it can be read with it alone."""


def pack(text: str) -> bytes:
    """An event's JSON as it is kept."""
    packer = zlib.compressobj(zdict=_DICTIONARY)
    return packer.compress(text.encode()) + packer.flush()


def unpack(kept: bytes | str) -> str:
    """An event's JSON, given what is kept.

    Raises:
        zlib.error: it is damaged.
    """
    if isinstance(kept, str):
        return kept
    return zlib.decompressobj(zdict=_DICTIONARY).decompress(kept).decode()
