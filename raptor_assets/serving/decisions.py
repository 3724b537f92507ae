"""Routes for people's decisions, which are recorded under the name of the caller's key."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from raptor_assets.local.curate import Author, Curator
from raptor_assets.serving.endpoints import (
    PROBLEMS,
    SCHEME,
    APIRouter,
    Depends,
    HTTPException,
    make_endpoint,
)
from raptor_assets.serving.identity import CALLER, current_readers
from raptor_assets.serving.parameters import Line, Name
from raptor_assets.serving.values import ApiModel
from raptor_core.curation import Decision, Kind
from raptor_core.errors import CurationError

MAX_TEXT_CHARS = 100_000
_VALUE = "The full new text of a summary; for a finding, right or wrong."


class Decide(BaseModel):
    """Decision to record, under the name of the caller's key or token."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[Kind, Field(description="What to do; see docs/curation.md.")]
    subject: Annotated[Name, Field(description="Id of a node or a document.")]
    value: Annotated[str, Field(max_length=MAX_TEXT_CHARS, description=_VALUE)] = ""
    sentence: Annotated[Line, Field(description="The sentence that a finding is about.")] = ""
    why: Annotated[Line, Field(description="The reason, for later readers.")] = ""


class Decisions(ApiModel):
    """Decisions, oldest first; ``can_decide`` is true if the server records new ones.

    If callers have their own readers, it says whether this caller may decide.
    """

    can_decide: bool
    decisions: list[Decision]


def decisions_router(curator: Curator, *, can_decide: bool) -> APIRouter:
    """Make the routes under /decisions; without ``can_decide``, only the list."""
    router = APIRouter(prefix="/decisions", responses=PROBLEMS)

    def of_caller() -> Curator:
        return curator.for_readers(current_readers())

    def decisions() -> Decisions:
        """List the decisions: texts set aside, summaries corrected, findings marked."""
        caller = CALLER.get()
        decides = caller is not None and (caller.can_decide or (can_decide and not caller.readers))
        return Decisions(can_decide=decides, decisions=of_caller().list_decisions())

    router.get("")(make_endpoint(decisions))
    if not can_decide:
        return router

    def decide(decision: Decide) -> Decision:
        """Record a decision, which takes effect with the next build."""
        subject, author = decision.subject, _caller_as_author(decision.why)
        match decision.kind:
            case "document":
                return of_caller().set_document_aside(subject, author)
            case "chunk":
                return of_caller().set_chunk_aside(subject, author)
            case "summary":
                return of_caller().correct_summary(subject, decision.value, author)
            case "finding":
                return of_caller().mark_finding(subject, decision.sentence, decision.value, author)

    def take_back(decision_id: Line, why: Line = "") -> Decision:
        """Undo a decision, from the next build on."""
        return of_caller().undo_decision(decision_id, _caller_as_author(why))

    writes = [Depends(SCHEME), Depends(_require_decider)]
    router.post("", dependencies=writes)(make_endpoint(decide))
    router.delete("/{decision_id}", dependencies=writes)(make_endpoint(take_back))
    return router


def _caller_as_author(why: str) -> Author:
    """Return the caller of this request as the author of a decision."""
    caller = CALLER.get()
    if caller is None or not caller.name:
        raise CurationError("a decision needs a name, but the caller's token has no subject (sub)")
    return Author(caller.name, why)


async def _require_decider() -> None:
    caller = CALLER.get()
    if caller is None or not caller.can_decide:
        # If the keys are the server's own, the page then asks for the one that may decide.
        status = 403 if caller is not None and caller.readers else 401
        message = "this key may only read; decisions need one that may decide"
        raise HTTPException(status, message, {"WWW-Authenticate": "Bearer"})
