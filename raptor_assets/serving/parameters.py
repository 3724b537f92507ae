"""Parameters of searches, with their bounds and descriptions: one declaration for all interfaces.

The HTTP API takes the models as bodies, the tools of ``mcp`` take their fields, and the commands
derive their options from them. Types and descriptions of settings come from ``RetrievalSettings``.
The functions that use them are in ``answers``.
"""

from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from raptor_core.errors import SettingsError
from raptor_core.identity import MAX_ID_BYTES
from raptor_core.retrieval.base import Kind, Query, Scope
from raptor_core.settings import Settings
from raptor_core.settings.retrieval import RetrievalSettings, Strategy
from raptor_core.store.base import Where

MAX_QUESTION_CHARS = 10_000  # limit of a question; embedders read far less
MAX_TURNS = 100  # limit of the turns that are kept; fewer are used
Name = Annotated[str, Field(max_length=MAX_ID_BYTES)]


def _refuse_truth_value(value: object) -> object:
    """Reject booleans, because pydantic would convert true to 1."""
    if isinstance(value, bool):
        raise ValueError("expected a number, got a boolean")  # noqa: TRY004 - pydantic's
    return value


Line = Annotated[str, Field(max_length=4096)]
NodeId = Annotated[
    str, Field(max_length=64, description="Id of a node, as returned by search or read_node.")
]
Layer = Annotated[int, Field(ge=0, le=1000), BeforeValidator(_refuse_truth_value)]
Value = (
    Line
    | bool
    | Annotated[int, Field(ge=-(2**53), le=2**53, strict=True)]
    | Annotated[float, Field(allow_inf_nan=False, strict=True)]
)
Tokens = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_refuse_truth_value)]
Question = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION_CHARS, description="A question, or words.")
]
_TAKEN_BY = {
    "max_per_document": "hybrid",
    "n_layers": "traversal",
    "start_layer": "traversal",
    "threshold": "traversal",
}
"""The only strategy that takes an option, by option."""


def _of_setting(name: str) -> Any:
    """Make an optional field with the limits and the description of a retrieval setting."""
    setting = RetrievalSettings.model_fields[name]
    marks = [(bound, mark) for bound in ("ge", "le") for mark in setting.metadata]
    bounds = {bound: getattr(mark, bound) for bound, mark in marks if hasattr(mark, bound)}
    return Field(None, description=" ".join(f"{setting.description}".split()), **bounds)


class ValueRange(BaseModel):
    """Range of numbers, or of dates such as 2024-01-31: over, at least, under, at most."""

    model_config = ConfigDict(extra="forbid")

    gt: Value | None = None
    gte: Value | None = None
    lt: Value | None = None
    lte: Value | None = None


class Filters(BaseModel):
    """Filters of a search. A node must match all of them; an empty list matches nothing."""

    model_config = ConfigDict(extra="forbid")

    trees: list[Name] | None = Field(None, max_length=1000, description="Search only these trees.")
    documents: list[Name] | None = Field(
        None, max_length=1000, description="Search only nodes whose text is from these documents."
    )
    folders: list[Name] | None = Field(
        None,
        max_length=1000,
        description='Search only documents in these folders or subfolders, such as "policies/".',
    )
    layers: list[Layer] | None = Field(
        None, max_length=1000, description="Search only these layers; layer 0 contains the chunks."
    )
    ids: list[NodeId] | None = Field(
        None, max_length=1000, description="Search only the nodes with these ids."
    )
    metadata: (
        dict[Line, Value | Annotated[list[Value], Field(max_length=1000)] | ValueRange] | None
    ) = Field(
        None,
        max_length=100,
        description="Search only nodes whose metadata has this value for each key; a list accepts "
        'any of its values, and {"gte": "2024-01-01"} is a range.',
    )

    def where(self) -> Where:
        """Return the filter."""
        values = {name: getattr(self, name, None) for name in (*Filters.model_fields, "readers")}
        accepted = {
            key: value.model_dump(exclude_none=True)
            if isinstance(value, ValueRange)
            else tuple(value)
            if isinstance(value, list)
            else value
            for key, value in (values.pop("metadata") or {}).items()
        }
        exclude = getattr(self, "exclude", None)
        return Where(**values, metadata=accepted, exclude=exclude and exclude.where())


class QueryOptions(Filters):
    """Filters and options of a query; the defaults are the home's settings."""

    readers: list[Name] | None = Field(
        None,
        max_length=1000,
        description='Search only what one of these users or groups may read; "*" is everyone.',
    )
    exclude: Filters | None = Field(
        None, description="Exclude a node if any chunk below it matches any of these filters."
    )
    history: list[str] | None = Field(
        None,
        description="Earlier questions of the conversation, the latest last. Words of these are "
        'added to a question that needs them ("And why?").',
    )
    strategy: Strategy | None = _of_setting("strategy")
    kind: Kind | None = Field(
        None,
        description='Kind of the question: "detail", "general" (it asks for an overview) or '
        '"auto", the default, which decides by the words of the question.',
    )
    budget_tokens: int | None = _of_setting("budget_tokens")
    top_k: int | None = _of_setting("top_k")
    max_per_document: int | None = _of_setting("max_per_document")
    n_layers: int | None = Field(
        None, ge=1, le=1000, description="Number of layers that a traversal searches."
    )
    threshold: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="Minimum cosine similarity of selected nodes in a traversal; replaces top_k.",
    )

    @field_validator("history")
    @classmethod
    def _cut_history(cls, turns: list[str] | None) -> list[str] | None:
        """Return the last turns that have a text, each cut to the length of a question."""
        return turns and [t[:MAX_QUESTION_CHARS] for t in turns if t.strip()][-MAX_TURNS:]

    _numbers = field_validator(
        "budget_tokens", "top_k", "max_per_document", "n_layers", "threshold", mode="before"
    )(_refuse_truth_value)

    def query(self, settings: Settings) -> Query:
        """Return the query of a home with these settings.

        Raises:
            SettingsError: an option is set that the strategy does not support.
        """
        names = {field.name for field in fields(Query)} - {"where"}
        options = {name: getattr(self, name, None) for name in sorted(names)}
        chosen = {name: value for name, value in options.items() if value is not None}
        if self.history:
            chosen["history"] = tuple(self.history)
        strategy = chosen.get("strategy", settings.retrieval.strategy)
        for name, taker in _TAKEN_BY.items():
            if name in chosen and strategy != taker:
                raise SettingsError(
                    f"the strategy {strategy} does not take {name}; omit it, or set the strategy "
                    f"{taker}"
                )
        defaults = {
            name: chosen.pop(name) for name in RetrievalSettings.model_fields & chosen.keys()
        }
        retrieval = settings.retrieval.model_copy(update=defaults)
        query = Query.from_settings(settings.model_copy(update={"retrieval": retrieval}))
        return replace(query, where=self.where(), **chosen)


class ScopedOptions(QueryOptions):
    """Filters and options of a query of the whole home."""

    scope: Scope | None = Field(
        None,
        description='What to search: "trees" (the default), "corpus" (the corpus tree) or "both".',
    )
    start_layer: Layer | None = Field(
        None, description="Layer where a traversal starts; by default the top layer of each tree."
    )


class WithinParameters(QueryOptions):
    """Question of a search, with its filters and options."""

    question: Question


class SearchParameters(ScopedOptions, WithinParameters):
    """Parameters of a search of the whole home."""


class AskParameters(SearchParameters):
    """Parameters of an answer from the hits of a search."""

    stream: bool = Field(
        False,
        description="Send the answer while it is written, as server-sent events: `text` for each "
        "piece, then `answer` with the value of a request without `stream`, or `error`.",
    )


class SubtreeSearchParameters(WithinParameters):
    """Parameters of a search under a node."""

    node_id: NodeId


NameContains = Annotated[
    str,
    Field(
        max_length=MAX_ID_BYTES,
        description="List only trees whose name contains this text; case is ignored.",
    ),
]
Offset = Annotated[int, Field(ge=0, le=2**31, description="Number of items to skip.")]
Limit = Annotated[int, Field(ge=1, le=500, description="Maximum number of items.")]
TreeName = Annotated[Name, Field(description="Name of a tree, as returned by list_trees.")]
OutlineBudget = Annotated[
    Tokens, Field(description="Maximum tokens of all nodes together, as JSON.")
]
Show = Annotated[
    Literal["names", "texts"], Field(description='"texts" adds the whole text of each child.')
]
