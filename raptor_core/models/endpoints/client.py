"""The client of an endpoint: chat, embeddings and reranking, with retries, limits and a budget."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from raptor_core.errors import AnswerError, EndpointError, RaptorError
from raptor_core.models.endpoints.answers import (
    read_embeddings,
    read_scores,
    read_trimmed_chat,
    read_usage,
)
from raptor_core.models.endpoints.dialects import (
    PLACEHOLDER,
    EndpointState,
    create_client,
    find_api_key,
    rerank_body,
)
from raptor_core.models.endpoints.faults import CallFaultError, FaultError, Stop, retry
from raptor_core.models.endpoints.messages import (
    error_to_fault,
    parse_json_body,
    raise_if_error_answer,
)
from raptor_core.models.endpoints.streams import StreamedAnswer, Watch
from raptor_core.models.endpoints.values import ChatAnswer, ChatModelRequest, UsageMeter, WorstCase
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import Usage, estimate_tokens
from raptor_core.redaction import hide_credentials
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.base import ChatModelSettings, EndpointSettings
from raptor_core.tracing import (
    model_call_attributes,
    record_messages,
    record_response,
    record_usage,
    span,
)
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from openai import OpenAI

Result = TypeVar("Result")


BASE_SECONDS = 2.0
"""Backoff before the first retry; see ``RetryPolicy``."""


class EndpointClient:
    """Client of an endpoint or a local model, for any number of threads.

    Neither ``repr`` nor any error shows the key. Every attempt is reserved in ``ledger`` for a
    purpose; without a ledger there are no prices. ``meter`` counts the usage of a call, even if it
    fails. After ``stop`` is set, no attempt begins.

    Every call raises MissingKeyError if the endpoint needs a key and there is none, and
    EndpointError, with the last reason, if all attempts failed. Every call that costs money also
    raises BudgetError if an attempt would exceed the run's budget, and EndpointDownError if the
    endpoint stays down.
    """

    def __init__(
        self,
        endpoint: EndpointSettings,
        policy: RetryPolicy | None = None,
        *,
        ledger: Ledger | None = None,
        purpose: str = "",
    ) -> None:
        self.endpoint = endpoint
        self._local = (
            endpoint if isinstance(endpoint, ChatModelSettings) and endpoint.is_local else None
        )
        self._account = (ledger or Ledger()).account(
            purpose, endpoint.shown_model, free=self._local is not None
        )
        self._policy = policy or RetryPolicy(endpoint.max_retries, BASE_SECONDS)
        self._state = EndpointState.for_endpoint(endpoint)
        self._lock = threading.Lock()
        self._connection: OpenAI | None = None

    def require_key(self) -> str:
        """Return the key to send, or a placeholder if the endpoint needs none."""
        if self._local is not None:
            return PLACEHOLDER
        return find_api_key(
            self.endpoint.api_key_env, self.endpoint.base_url, self.endpoint.purpose
        )

    def send_free_request(self, call: Callable[[OpenAI], Result], kind: str) -> Result:
        """Send a request that costs nothing, and return its result; errors name its ``kind``."""
        send = partial(self._send_request, lambda: call(self._connect()))
        return retry(send, self._policy, self._error_label(kind))

    def count_retry(self) -> Usage:
        """Count a retry, and return the usage to add to that of the call."""
        return self._account.count_retry()

    def chat(
        self,
        ask: ChatModelRequest,
        *,
        meter: UsageMeter | None = None,
        stop: Stop = None,
        watch: Callable[[str], bool] | None = None,
    ) -> ChatAnswer:
        """Return a complete answer.

        ``watch`` receives the text so far each time that it has grown, and returns whether a person
        has seen a part of it. In this case the call is not retried, because a retry would give
        another answer.
        """
        counter = meter or UsageMeter()
        is_seen = False
        n_too_long, n_unusable = 0, ask.n_unusable
        retry_lines: dict[str, None] = {}

        def note(fault: FaultError) -> None:
            nonlocal n_too_long, n_unusable
            n_too_long += fault.is_too_long
            n_unusable += isinstance(fault, CallFaultError)
            retry_lines.update({fault.retry_line: None} if fault.retry_line else {})
            counter.usage += self._account.count_retry()

        def see(text: str) -> None:
            nonlocal is_seen
            is_seen = bool(watch and watch(text))

        def attempt() -> tuple[str, bool]:
            shorten = [ask.shorten(n_too_long)] if n_too_long else []
            user = "\n\n".join([ask.user, *shorten, *retry_lines])
            try:
                response = self._chat(ask.for_retry(n_unusable), user, counter, stop, see)
                return read_trimmed_chat(response, ask, self.require_key(), self.endpoint.purpose)
            except FaultError as fault:
                fault.meaning = "stop" if is_seen else fault.meaning
                raise

        with self._trace_call(
            "chat", counter, {"gen_ai.request.max_tokens": ask.max_tokens}
        ) as current:
            label = self._error_label("chat")
            text, is_cut = retry(attempt, self._policy, label, stop, note)
            record_messages(current, ask.system, ask.user, text)
        return ChatAnswer(text, counter.usage, is_cut)

    def embed(self, texts: Sequence[str], *, stop: Stop = None) -> Vectors:
        """Return vectors of ``texts`` in order, shape ``(len(texts), n_dims)``, not normalized.

        If a text is too long for the model, AnswerError names the longest one.
        """
        worst = WorstCase(sum(estimate_tokens(text) for text in texts), 0)
        meter = UsageMeter()

        def body() -> dict[str, Any]:
            return self._state.dialect.embeddings_body(self.endpoint.model, texts)

        def attempt() -> Vectors:
            response = self._send_paid_request(self._send_texts, body, worst, meter, stop)
            return read_embeddings(response, len(texts), self.require_key())

        try:
            with self._trace_call("embeddings", meter):
                label = self._error_label("embeddings")
                return retry(attempt, self._policy, label, stop, lambda _: self.count_retry())
        except AnswerError as error:
            if error.kind != "context":
                raise
            longest = max(texts, key=len)
            raise AnswerError(str(error), "context", longest, is_permanent=True) from error

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return scores for how well each text answers a question, from ``/rerank``."""
        worst = WorstCase(sum(estimate_tokens(f"{question} {text}") for text in texts), 0)
        meter = UsageMeter()

        def body() -> dict[str, Any]:
            return rerank_body(self.endpoint, question, texts)

        def attempt() -> list[float]:
            response = self._send_paid_request(self._send_rerank, body, worst, meter, None)
            return read_scores(response, len(texts), self.require_key())

        with self._trace_call("rerank", meter):
            return retry(attempt, self._policy, self._error_label("rerank"))

    def _send_rerank(self, fields: Mapping[str, Any]) -> Any:
        from httpx import Response

        response = self._connect().post("/rerank", cast_to=Response, body=dict(fields))
        return parse_json_body(response.content)

    def _chat(
        self, ask: ChatModelRequest, user: str, meter: UsageMeter, stop: Stop, watch: Watch
    ) -> Any:
        """Send a chat request and return the parsed answer, which may be streamed."""
        stop = stop or threading.Event()

        def body() -> dict[str, Any]:
            dialect = self._state.dialect
            return dialect.chat_body(self.endpoint.model, ask, user) | dialect.stream_fields()

        def send(fields: Mapping[str, Any]) -> Any:
            if self._local is not None:
                return self._answer_locally(self._local, fields, stop, watch)
            return self._send_chat(fields, stop, watch)

        return self._send_paid_request(send, body, ask.worst_case(user), meter, stop)

    def _answer_locally(
        self,
        part: ChatModelSettings,
        fields: Mapping[str, Any],
        stop: threading.Event,
        watch: Watch,
    ) -> Any:
        """Return the answer of the model in this process; end early if ``stop`` is set."""
        from raptor_core.models.local.engine import stream_local_answer

        answer = StreamedAnswer(watch)
        stream_local_answer(part, fields, stop, answer.add)
        if stop.is_set():
            raise EndpointError(f"{self._error_label('chat')} was cancelled")
        return answer.join_events()

    def _send_chat(self, fields: Mapping[str, Any], stop: threading.Event, watch: Watch) -> Any:
        from openai import Stream

        answer, kind = StreamedAnswer(watch), Stream[object]
        path, body = "/chat/completions", dict(fields)
        with self._connect().post(
            path, cast_to=object, body=body, stream=True, stream_cls=kind
        ) as events:
            if "event-stream" not in events.response.headers.get("content-type", ""):
                return parse_json_body(events.response.read())
            for event in events:
                if stop.is_set():
                    raise EndpointError(f"{self._error_label('chat')} was cancelled")
                answer.add(event)
        return answer.join_events()

    def _send_texts(self, fields: Mapping[str, Any]) -> Any:
        create = self._connect().embeddings.with_streaming_response.create
        with create(**fields) as response:
            return parse_json_body(response.read())

    def _send_paid_request(
        self,
        send: Callable[[Mapping[str, Any]], Any],
        body: Callable[[], dict[str, Any]],
        worst: WorstCase,
        meter: UsageMeter,
        stop: Stop,
    ) -> Any:
        """Send a paid request within the budget and the endpoint's limits; return the answer.

        It is sent again without each field that is rejected.
        """
        stop = stop or threading.Event()
        key = self.require_key()  # fails before anything is reserved
        while True:
            fields = body()
            begun = self._state.limiter.wait_for_turn(
                sum(worst), stop, self._error_label("the call")
            )
            with self._account.reserve(*worst) as reservation:
                try:
                    answer = self._send_request(partial(send, fields))
                    raise_if_error_answer(answer, key, self.endpoint.purpose)
                except FaultError as fault:
                    if fault.is_unbilled:
                        reservation.release()
                    self._state.limiter.record_fault(fault, begun, self._policy)
                    # Another thread's error may have changed the request meanwhile.
                    if (
                        self._state.dialect.learn_rejected_field(fault.rejected_field, fields)
                        or body() != fields
                    ):
                        continue
                    raise
                self._state.limiter.record_answer()
                meter.usage += reservation.charge(read_usage(answer, worst.prompt_tokens))
            record_response(answer)
            return answer

    def _send_request(self, call: Callable[[], Result]) -> Result:
        """Return the result of a request, or raise its fault."""
        try:
            return call()
        except (FaultError, RaptorError):
            raise
        except Exception as error:  # noqa: BLE001  # ``error_to_fault`` raises unrelated errors again
            seconds, purpose = self.endpoint.timeout_seconds, self.endpoint.purpose
            fault = error_to_fault(error, seconds, self.require_key(), purpose)
        # Outside of "except", so that the fault does not refer to the request, which has the key.
        raise fault

    def _connect(self) -> OpenAI:
        with self._lock:
            if self._connection is None:
                self._connection = create_client(self.endpoint, self.require_key())
                # The sockets close with the last reference to this client, or at exit.
                weakref.finalize(self, self._connection.close)
            return self._connection

    @contextmanager
    def _trace_call(
        self, operation: str, meter: UsageMeter, details: Mapping[str, Any] = {}
    ) -> Iterator[Any]:
        """Trace a call in a span, which records the usage of the call at its end."""
        model, local = self.endpoint.shown_model, self._local is not None
        provider, address = ("llama.cpp", "") if local else ("openai", self.endpoint.base_url)
        values = model_call_attributes(operation, model, provider, address)
        before = meter.usage
        with span(f"{operation} {model}", {**values, **details}, "CLIENT") as current:
            try:
                yield current
            finally:
                usage = meter.usage - before
                record_usage(values, usage.prompt_tokens, usage.completion_tokens)

    def _error_label(self, kind: str) -> str:
        endpoint = self.endpoint
        place = "in this process" if self._local else f"at {hide_credentials(endpoint.base_url)}"
        return f"{endpoint.purpose}: {kind} with {endpoint.shown_model!r} {place}"
