"""Retrieval in the form of Dify's external knowledge API: each corpus is a knowledge base.

The score of a record is its score in the search divided by that of the best one, from 0 to 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from raptor_assets.serving.answers import HomeService
from raptor_assets.serving.chat import require_corpus
from raptor_assets.serving.endpoints import APIRouter, make_endpoint
from raptor_assets.serving.parameters import Line, Question, Value
from raptor_assets.serving.problems import DIFY
from raptor_assets.serving.values import ApiModel
from raptor_core.errors import SettingsError
from raptor_core.integrations.base import best_hits, hit_metadata
from raptor_core.retrieval import Query, Retrieval
from raptor_core.store.base import Hit, Where

MAX_RECORDS = 100


class MetadataCondition(BaseModel):
    """Condition on the metadata of documents."""

    model_config = ConfigDict(extra="ignore")

    name: Line | Annotated[list[Line], Field(min_length=1, max_length=1)]
    comparison_operator: str
    value: Value | Annotated[list[Value], Field(max_length=1000)] | None = None

    @property
    def key(self) -> str:
        """Name of the metadata; older clients send a list of one."""
        return self.name if isinstance(self.name, str) else self.name[0]


class Conditions(BaseModel):
    """Conditions, all of which must be true, or one of them."""

    model_config = ConfigDict(extra="ignore")

    logical_operator: Literal["and", "or"] | None = "and"
    conditions: list[MetadataCondition] | None = Field(None, max_length=100)


class RetrievalSetting(BaseModel):
    """Bounds of the records."""

    model_config = ConfigDict(extra="ignore")

    top_k: int = Field(10, ge=1, le=MAX_RECORDS)
    score_threshold: float | None = Field(0.0, ge=0, le=1)


class RetrievalRequest(BaseModel):
    """Question to a corpus."""

    model_config = ConfigDict(extra="ignore")

    knowledge_id: Line
    query: Question
    retrieval_setting: RetrievalSetting = RetrievalSetting()
    metadata_condition: Conditions | None = None


class DifyRecord(ApiModel):
    """Passage of a document, or a summary."""

    content: str
    score: float
    title: str
    metadata: dict[str, Any]


class Records(ApiModel):
    """Records, the best first."""

    records: list[DifyRecord]


def dify_router(reader: HomeService) -> APIRouter:
    """Make the route /retrieval; Dify's documentation describes it."""
    router = APIRouter(include_in_schema=False)

    def retrieve(body: RetrievalRequest) -> Records:
        require_corpus(reader, body.knowledge_id)
        setting, settings = body.retrieval_setting, reader.settings
        longest = max(settings.chunking.max_tokens, settings.summarizer.max_tokens)
        query = replace(
            Query.from_settings(settings),
            scope=reader.scopes_by_corpus()[body.knowledge_id],
            top_k=setting.top_k,
            budget_tokens=max(settings.retrieval.budget_tokens, setting.top_k * longest),
            where=to_where(body.metadata_condition),
        )
        retrieval = reader.search_with_query(body.query, query)
        ranked = best_hits(retrieval, setting.top_k, "score")
        least = setting.score_threshold or 0.0
        records = [_to_record(*pair, retrieval, reader) for pair in ranked if pair[1] >= least]
        return Records(records=records)

    router.post(DIFY)(make_endpoint(retrieve))
    return router


def _to_record(hit: Hit, relevance: float, retrieval: Retrieval, reader: HomeService) -> DifyRecord:
    node = hit.node
    title = str(node.metadata.get("title", "")) or node.name or node.documents[0]
    metadata = {**hit_metadata(hit, relevance, retrieval), "link": reader.link_of(node)}
    return DifyRecord(content=node.shown_text, score=relevance, title=title, metadata=metadata)


_BOUNDS = {">": "gt", "≥": "gte", "<": "lt", "≤": "lte", "after": "gt", "before": "lt"}
_EQUAL, _UNEQUAL = {"is", "=", "in"}, {"is not", "≠", "not in"}
_PRESENCE = {"empty", "not empty"}


def to_where(conditions: Conditions | None) -> Where:
    """Convert conditions on metadata to a filter.

    Raises:
        SettingsError: no filter can express the conditions.
    """
    chosen = (conditions.conditions if conditions else None) or []
    if conditions and conditions.logical_operator == "or" and len(chosen) > 1:
        chosen = [_merge_alternatives(chosen)]
    metadata: dict[str, Any] = {}
    excluded: dict[str, Any] = {}
    for condition in chosen:
        operator, key = condition.comparison_operator, condition.key
        if operator in _EQUAL:
            _put_condition(metadata, key, _accepted_values(condition), _refuse_two_conditions)
        elif operator in _UNEQUAL:
            _put_condition(
                excluded, key, _accepted_values(condition), lambda _key, old, new: [*old, *new]
            )
        elif operator in _PRESENCE:
            _put_condition(
                metadata if operator == "not empty" else excluded, key, {}, _refuse_two_conditions
            )
        elif operator in _BOUNDS:
            _put_condition(
                metadata, key, {_BOUNDS[operator]: _to_single_value(condition)}, _narrow_range
            )
        else:
            known = ", ".join([*sorted(_EQUAL | _UNEQUAL | _PRESENCE), *_BOUNDS])
            raise SettingsError(
                f"comparison_operator {operator!r:.40} is not supported, because metadata is "
                f"compared as a whole; supported are: {known}"
            )
    return Where(metadata=metadata, exclude=Where(metadata=excluded) if excluded else None)


def _put_condition(
    target: dict[str, Any], key: str, value: Any, join: Callable[[str, Any, Any], Any]
) -> None:
    target[key] = join(key, target[key], value) if key in target else value


def _refuse_two_conditions(key: str, _old: Any, _new: Any) -> Any:
    raise SettingsError(
        f"metadata_condition has several conditions on {key!r:.80} that cannot be combined; send "
        "one list of values with the operator in, or both bounds of a range"
    )


def _narrow_range(key: str, old: Any, new: Mapping[str, Any]) -> Any:
    """Add a bound to a range."""
    if not isinstance(old, Mapping) or not old or old.keys() & new.keys():
        return _refuse_two_conditions(key, old, new)
    return {**old, **new}


def _merge_alternatives(conditions: list[MetadataCondition]) -> MetadataCondition:
    """Combine conditions on the same key to one that is true if any of them is."""
    keys = {condition.key for condition in conditions}
    if len(keys) > 1 or any(c.comparison_operator not in _EQUAL for c in conditions):
        raise SettingsError(
            'logical_operator "or" combines only equalities on one key; send several requests, or '
            "one condition with the operator in"
        )
    values = [value for condition in conditions for value in _accepted_values(condition)]
    return MetadataCondition(name=keys.pop(), comparison_operator="in", value=values)


def _accepted_values(condition: MetadataCondition) -> list[Any]:
    """Return the values of a condition, any of which matches."""
    value = condition.value
    if condition.comparison_operator in {"in", "not in"} and isinstance(value, str):
        value = [part.strip() for part in value.split(",")]  # the form of a list in some clients
    return value if isinstance(value, list) else [_to_single_value(condition)]


def _to_single_value(condition: MetadataCondition) -> Any:
    if condition.value is None or isinstance(condition.value, list):
        raise SettingsError(
            f"the condition {condition.comparison_operator!r:.40} on {condition.key!r:.80} needs "
            "one value"
        )
    return condition.value
