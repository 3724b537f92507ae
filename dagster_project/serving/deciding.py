"""What people decide, over HTTP: only with a key of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from dagster_project.curating import Author, Curator
from dagster_project.serving.answers import Answer
from raptor_core.curation import Decision, Kind

MAX_TEXT_CHARS = 100_000
Line = Annotated[str, Field(max_length=4096)]
Guard = Callable[..., None]


class Decide(BaseModel):
    """A decision to make."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[Kind, Field(description="What to do; see docs/curation.md.")]
    subject: Annotated[Line, Field(description="A node's id; of a document, the document's.")]
    value: Annotated[
        str,
        Field(
            max_length=MAX_TEXT_CHARS,
            description="A summary's whole new text; of a finding, right or wrong.",
        ),
    ] = ""
    sentence: Annotated[Line, Field(description="Of a finding: the sentence it is about.")] = ""
    who: Annotated[Line, Field(min_length=1, description="Who decides.")]
    why: Annotated[Line, Field(description="The reason, for those who read it later.")] = ""


class Decisions(Answer):
    """All decisions, oldest first. ``can_decide`` says whether this server takes new ones."""

    can_decide: bool
    decisions: list[Decision]


def decisions_router(
    curator: Curator, reads: list[Any], writes: Guard | None, responses: dict[int | str, Any]
) -> APIRouter:
    """The paths under /decisions.

    Args:
        curator: of the home.
        reads: what a request to read depends on.
        writes: what one to decide depends on; None takes none.
        responses: that any request may have.
    """
    router = APIRouter(prefix="/decisions", responses=responses)

    @router.get("", dependencies=reads)
    def decisions() -> Decisions:
        """List what people decided: texts set aside, summaries corrected, findings marked."""
        return Decisions(can_decide=writes is not None, decisions=curator.decisions())

    if writes is None:
        return router

    @router.post("", dependencies=[Depends(writes)])
    def decide(asked: Decide) -> Decision:
        """Decide something; the next build honours it, and nothing published changes before."""
        author = Author(asked.who, asked.why)
        match asked.kind:
            case "document":
                return curator.set_document_aside(asked.subject, author)
            case "chunk":
                return curator.set_chunk_aside(asked.subject, author)
            case "summary":
                return curator.correct(asked.subject, asked.value, author)
            case "pin":
                return curator.pin(asked.subject, author)
            case "finding":
                return curator.mark(asked.subject, asked.sentence, asked.value, author)

    @router.delete("/{decision_id}", dependencies=[Depends(writes)])
    def take_back(decision_id: Line, who: Line, why: Line = "") -> Decision:
        """Take a decision back, from the next build on."""
        return curator.take_back(decision_id, Author(who, why))

    return router
