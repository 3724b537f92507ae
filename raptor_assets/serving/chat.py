"""Chat in the form of OpenAI's API: each corpus is a model that answers from its documents.

The last message of the user is the question, the messages before it are its history. The answer
ends with a numbered list of its sources, which the field ``raptor_citations`` contains as values.
"""

import re
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from raptor_assets.serving.answers import HomeService
from raptor_assets.serving.endpoints import APIRouter, Request, Response, to_json_response
from raptor_assets.serving.parameters import MAX_QUESTION_CHARS
from raptor_assets.serving.problems import OPENAI, to_problem, to_problem_response
from raptor_assets.serving.streams import (
    AnswerThreads,
    EventStream,
    cancel_on_disconnect,
    encode_event,
)
from raptor_assets.serving.values import Citation, to_citations
from raptor_core.errors import SettingsError, UnknownTreeError
from raptor_core.models.reading.reader import Answer
from raptor_core.redaction import escape_control_characters
from raptor_core.retrieval import Query, Retrieval

MAX_TURNS = 100
"""Maximum number of messages before a question that are read."""

CITATIONS = "raptor_citations"
"""Field of an answer with its sources. The name must be ours: Open WebUI reads ``sources``, and an
answer whose field ``sources`` has another format never ends there."""

PREFIX = "chatcmpl-"
"""Beginning of the ids of answers, as clients expect it."""
SHOWN_SPANS = 3
"""Maximum number of spans of a cited summary in the list of sources."""
_SOURCES = re.compile(r"\n\nSources:\n(?:\d+\. .*(?:\n|\Z))+\Z")
"""List at the end of an answer, which clients send back as part of the history."""
_CITATION = re.compile(r"\[(\d+)\]")
_MARKUP = re.compile(r"[\\`*\[\]<]")
"""Characters that could turn a title into a link, an image or HTML."""


class _Part(BaseModel):
    """Part of a message; parts other than text are ignored."""

    model_config = ConfigDict(extra="ignore")

    type: str = "text"
    text: str | None = None


class Message(BaseModel):
    """Message of a conversation."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: str | list[_Part] | None = None

    @property
    def text(self) -> str:
        """Text of the message, without citations and the list of sources."""
        content = self.content or ""
        if not isinstance(content, str):
            content = "\n".join(part.text or "" for part in content if part.type == "text")
        if self.role == "assistant":
            content = _CITATION.sub("", _SOURCES.sub("", content))
        return content.strip()


class _StreamOptions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatRequest(BaseModel):
    """Request of a chat; model options without a meaning here are ignored."""

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = False
    stream_options: _StreamOptions | None = None
    stop: str | list[str] | None = None
    n: int | None = 1

    @property
    def stop_texts(self) -> tuple[str, ...]:
        """Texts before which the answer stops."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(filter(None, stops))

    def question_and_history(self) -> tuple[str, tuple[str, ...]]:
        """Return the last message of the user, and the messages before it.

        Raises:
            SettingsError: there is none, it is too long, or several answers are requested.
        """
        if self.n not in (None, 1):
            raise SettingsError(f"expected n = 1, got {self.n}; only one answer is returned")
        turns = [m for m in self.messages if m.role in {"user", "assistant"} and m.text]
        last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=-1)
        if last < 0:
            raise SettingsError("expected a message with the role user and a text, got none")
        question, earlier = turns[last].text, turns[max(0, last - MAX_TURNS) : last]
        if len(question) > MAX_QUESTION_CHARS:
            raise SettingsError(
                f"expected a question of at most {MAX_QUESTION_CHARS:,} characters, got "
                f"{len(question):,}; ask a shorter one"
            )
        return question, tuple(turn.text[:MAX_QUESTION_CHARS] for turn in earlier)


class ChatCompletion:
    """Answer to a chat, whole or in parts, in OpenAI's format."""

    def __init__(self, model: str, answer: str) -> None:
        self._fields = {
            "id": f"{PREFIX}{answer or uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": model,
        }

    def to_complete_answer(
        self, answer: Answer, text: str, sources: Sequence[Citation]
    ) -> dict[str, Any]:
        """Return a complete answer."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "logprobs": None}
        return {
            **self._fields,
            "object": "chat.completion",
            "choices": [{**choice, "finish_reason": _finish_reason(answer)}],
            "usage": _usage_values(answer),
            CITATIONS: _citation_values(sources),
        }

    def to_stream_event(self, finish_reason: str | None = None, **delta: str) -> dict[str, Any]:
        """Return an event of a stream."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._fields, "object": "chat.completion.chunk", "choices": [choice]}

    def to_last_event(self, answer: Answer, sources: Sequence[Citation]) -> dict[str, Any]:
        """Return the event that ends the text."""
        return {
            **self.to_stream_event(_finish_reason(answer)),
            CITATIONS: _citation_values(sources),
        }

    def to_usage_event(self, answer: Answer) -> dict[str, Any]:
        """Return the event with the tokens of the answer."""
        return {**self.to_stream_event(), "choices": [], "usage": _usage_values(answer)}


def _finish_reason(answer: Answer) -> str:
    return "length" if answer.cut_off else "stop"


def _usage_values(answer: Answer) -> dict[str, int]:
    used = answer.usage
    total = used.prompt_tokens + used.completion_tokens
    counts = {"prompt_tokens": used.prompt_tokens, "completion_tokens": used.completion_tokens}
    return {**counts, "total_tokens": total}


def _citation_values(citations: Sequence[Citation]) -> list[dict[str, Any]]:
    """Return the values of citations; ``document`` is empty for a summary of several documents."""
    return [
        {
            "document": cited.documents[0] if len(cited.documents) == 1 else "",
            "page": cited.pages[0] if cited.pages else None,
            **cited.model_dump(),
        }
        for cited in citations
    ]


def sources_text(citations: Sequence[Citation]) -> str:
    """Return the list of sources in Markdown, "" if empty; titles are escaped."""
    lines = []
    for cited in citations:
        place = _MARKUP.sub(r"\\\g<0>", escape_control_characters(" ".join(cited.place.split())))
        line = f"{cited.number}. " + (f"[{place}]({cited.link})" if cited.link else place)
        lines.append(line + _describe_source_spans(cited))
    return "\n\nSources:\n" + "\n".join(lines) if lines else ""


def _describe_source_spans(cited: Citation) -> str:
    """Return the first spans that a cited summary was made from; "" for a quoted passage."""
    shown = (f"{p.document}:{p.start}-{p.end}" for p in cited.behind[:SHOWN_SPANS])
    places = _MARKUP.sub(r"\\\g<0>", escape_control_characters(" ".join(", ".join(shown).split())))
    more = f" and {cited.n_behind - SHOWN_SPANS} more" if cited.n_behind > SHOWN_SPANS else ""
    return f", made from {places}{more}" if places else ""


class StopTextCutter:
    """Cuts a text before the first stop text, which may be divided between pieces."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._pending = ""
        self.text = ""
        self.is_over = False

    def add_piece(self, piece: str, *, is_last: bool = False) -> str:
        """Return what can be shown of the text, without a possible beginning of a stop text."""
        if self.is_over:
            return ""
        text = self._pending + piece
        places = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        n_open = 0 if is_last else self._n_undecided_chars(text)
        end = min(places) if places else len(text) - n_open
        self.is_over = bool(places)
        self._pending = text[end:]
        self.text += text[:end]
        return text[:end]

    def _n_undecided_chars(self, text: str) -> int:
        """Return the number of last characters that may begin a stop text."""
        lengths = (n for stop in self._stops for n in range(1, len(stop)))
        return max(
            (n for n in lengths if any(text.endswith(s[:n]) for s in self._stops)), default=0
        )


def chat_router(reader: HomeService, threads: AnswerThreads[Answer]) -> APIRouter:
    """Make the routes under /v1; OpenAI's documentation describes them."""
    router = APIRouter(prefix=OPENAI.rstrip("/"), include_in_schema=False)

    @router.get("/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": list(map(_model_values, reader.scopes_by_corpus()))}

    @router.get("/models/{name}")
    def model(name: str) -> dict[str, Any]:
        require_corpus(reader, name)
        return _model_values(name)

    @router.post("/chat/completions")
    async def complete(request: Request, chat: ChatRequest) -> Response:
        question, history = chat.question_and_history()
        retrieval = await to_thread.run_sync(_search_corpus, reader, chat.model, question, history)
        completion = ChatCompletion(chat.model, retrieval.id)
        if chat.stream:
            return EventStream(_stream_events(reader, threads, chat, retrieval, completion))
        work = partial(reader.answer_from, retrieval, False)
        answer = await cancel_on_disconnect(request, threads.run(work))
        stopped = StopTextCutter(chat.stop_texts)
        stopped.add_piece(answer.text or _no_answer_text(retrieval), is_last=True)
        sources = _citations_of_cut_text(to_citations(answer, retrieval, reader.link_of), stopped)
        text = stopped.text + ("" if stopped.is_over else sources_text(sources))
        return to_json_response(completion.to_complete_answer(answer, text, sources))

    return router


def _search_corpus(
    reader: HomeService, name: str, question: str, history: tuple[str, ...]
) -> Retrieval:
    """Search a corpus for the passages to answer from."""
    require_corpus(reader, name)
    query = Query.from_settings(reader.settings)
    scoped = replace(query, scope=reader.scopes_by_corpus()[name], history=history)
    return reader.search_for_answer(question, scoped)


def require_corpus(reader: HomeService, name: str) -> None:
    """Raise UnknownTreeError if no corpus has this name."""
    corpora = reader.scopes_by_corpus()
    if name not in corpora:
        raise UnknownTreeError(f"no corpus is called {name!r:.80}; there are: {', '.join(corpora)}")


def _model_values(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "raptor"}


def _no_answer_text(retrieval: Retrieval) -> str:
    return f"Nothing in the documents answers this: {retrieval.explanation}."


def _citations_of_cut_text(
    citations: Sequence[Citation], stopped: StopTextCutter
) -> list[Citation]:
    """Return the citations of a text that may have been cut."""
    numbers = {int(number) for number in _CITATION.findall(stopped.text)}
    return [c for c in citations if not stopped.is_over or c.number in numbers]


async def _stream_events(
    reader: HomeService,
    threads: AnswerThreads[Answer],
    chat: ChatRequest,
    retrieval: Retrieval,
    completion: ChatCompletion,
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a streamed answer."""
    stopped, work = StopTextCutter(chat.stop_texts), partial(reader.answer_from, retrieval, True)
    try:
        yield encode_event(completion.to_stream_event(role="assistant", content=""))
        async with aclosing(threads.stream(work)) as items:
            async for item in items:
                if isinstance(item, str):
                    if text := stopped.add_piece(item):
                        yield encode_event(completion.to_stream_event(content=text))
                    continue
                for value in _end_of_stream(item, stopped, completion, retrieval, reader):
                    yield encode_event(value)
                if chat.stream_options and chat.stream_options.include_usage:
                    yield encode_event(completion.to_usage_event(item))
        yield b"data: [DONE]\n\n"
    except Exception as error:  # noqa: BLE001  # the status was already sent
        yield encode_event(to_problem_response(OPENAI, *to_problem(error))[1])


def _end_of_stream(
    answer: Answer,
    stopped: StopTextCutter,
    completion: ChatCompletion,
    retrieval: Retrieval,
    reader: HomeService,
) -> Iterator[dict[str, Any]]:
    """Yield the events after the last piece of an answer: the rest, and the sources."""
    rest = stopped.add_piece("" if retrieval.hits else _no_answer_text(retrieval), is_last=True)
    sources = _citations_of_cut_text(to_citations(answer, retrieval, reader.link_of), stopped)
    rest += "" if stopped.is_over else sources_text(sources)
    if rest:
        yield completion.to_stream_event(content=rest)
    yield completion.to_last_event(answer, sources)
