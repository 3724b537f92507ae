"""Parameters of searches, with their bounds and descriptions: one declaration for all interfaces.

The HTTP API takes the models as bodies, the tools of ``mcp`` take their fields, and the command
makes its options of them. Calls that use them are in ``reading``.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from raptor_core.identity import MAX_ID_BYTES
from raptor_core.retrieval.base import Kind, Scope
from raptor_core.settings.retrieval import Strategy
from raptor_core.store.base import Where

MAX_QUESTION_CHARS = 10_000  # bound of a question; an embedder reads far less of it
Name = Annotated[str, Field(max_length=MAX_ID_BYTES)]


def _refuse_truth_value(value: object) -> object:
    """Return a value that may be an integer; pydantic would take true for 1."""
    if isinstance(value, bool):
        raise ValueError("expected an integer, got a truth value")  # noqa: TRY004 - pydantic's
    return value


Line = Annotated[str, Field(max_length=4096)]
NodeId = Annotated[
    str, Field(max_length=64, description="A node's id, as search and read_node give it.")
]
Layer = Annotated[int, Field(ge=0, le=1000), BeforeValidator(_refuse_truth_value)]
Value = (
    Line
    | bool
    | Annotated[int, Field(ge=-(2**53), le=2**53)]
    | Annotated[float, Field(allow_inf_nan=False)]
)
Tokens = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_refuse_truth_value)]
Question = Annotated[
    str, Field(min_length=1, max_length=MAX_QUESTION_CHARS, description="A question, or words.")
]
ChosenStrategy = Annotated[
    Strategy | None, Field(description="How to search; by default the home's setting.")
]


class ValueRange(BaseModel):
    """Range of numbers, or of dates such as 2024-01-31: over, at least, under, at most."""

    model_config = ConfigDict(extra="forbid")

    gt: Value | None = None
    gte: Value | None = None
    lt: Value | None = None
    lte: Value | None = None


class Filters(BaseModel):
    """Filters of a search. All that are given hold, and an empty list matches nothing."""

    model_config = ConfigDict(extra="forbid")

    trees: list[Name] | None = Field(None, max_length=1000, description="Only these trees.")
    documents: list[Name] | None = Field(
        None, max_length=1000, description="Only chunks and summaries of these documents alone."
    )
    folders: list[Name] | None = Field(
        None,
        max_length=1000,
        description='Only documents in these folders and under them, such as "policies/".',
    )
    layers: list[Layer] | None = Field(
        None, max_length=1000, description="Only these layers; 0 holds the chunks."
    )
    ids: list[NodeId] | None = Field(
        None, max_length=1000, description="Only the nodes of these ids."
    )
    metadata: (
        dict[Line, Value | Annotated[list[Value], Field(max_length=1000)] | ValueRange] | None
    ) = Field(
        None,
        max_length=100,
        description="Only nodes whose metadata has all these values, one of a list of values, or a "
        'value in a range such as {"gte": "2024-01-01"}.',
    )

    def where(self) -> Where:
        """Return the filter."""
        values = {name: getattr(self, name) for name in Filters.model_fields}
        accepted = {
            key: value.model_dump(exclude_none=True) if isinstance(value, ValueRange) else value
            for key, value in (values.pop("metadata") or {}).items()
        }
        exclude = getattr(self, "exclude", None)
        return Where(**values, metadata=accepted, exclude=exclude and exclude.where())


class WithinParameters(Filters):
    """Question, filters and options of a search."""

    question: Question
    exclude: Filters | None = Field(
        None, description="Leave out what matches one of these filters, in whole or in part."
    )
    strategy: ChosenStrategy = None
    kind: Kind | None = Field(
        None,
        description='Whether the question asks for a "detail" or is "general", such as for a '
        'summary; "auto", the default, decides by its words.',
    )
    budget_tokens: Tokens | None = Field(
        None, description="Tokens of all texts together; by default the home's setting."
    )

    def options(self) -> dict[str, Any]:
        """Return the options that are given, as fields of a query."""
        names = ("strategy", "kind", "budget_tokens", "scope")
        values = {name: getattr(self, name, None) for name in names}
        return {name: value for name, value in values.items() if value is not None}


class SearchParameters(WithinParameters):
    """Question, filters and options of a search of the whole home."""

    scope: Scope | None = Field(
        None,
        description='What to search: "trees", "corpus" for the corpus tree, or "both", for '
        "questions about everything.",
    )


class NodeSearchParameters(WithinParameters):
    """Parameters of a search under a node."""

    node_id: NodeId


NameContains = Annotated[
    str,
    Field(max_length=MAX_ID_BYTES, description="Only trees whose name contains this, in any case."),
]
Offset = Annotated[int, Field(ge=0, le=2**31, description="Number of items to skip.")]
Limit = Annotated[int, Field(ge=1, le=500, description="Maximal number of items.")]
TreeName = Annotated[Name, Field(description="A tree's name, as list_trees gives it.")]
OutlineBudget = Annotated[Tokens, Field(description="Tokens of all nodes together, as JSON.")]
Show = Annotated[
    Literal["names", "texts"], Field(description='"texts" adds the whole text of each child.')
]
