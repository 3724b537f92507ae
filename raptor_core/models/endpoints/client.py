"""Client of one endpoint: chat completions and embeddings, with retries, checks and counts."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from raptor_core.errors import AnswerError, EndpointError
from raptor_core.models.endpoints.answers import read_chat, read_embeddings, read_usage
from raptor_core.models.endpoints.dialects import Dialect, connect, effective, find_key, shown_url
from raptor_core.models.endpoints.faults import CallFaultError, FaultError, Retrier, Stop
from raptor_core.models.endpoints.gate import Gate
from raptor_core.models.endpoints.messages import check_error, fault_of, is_refusal, parse
from raptor_core.models.endpoints.values import ChatAnswer, ChatAsk, Meter, Worst
from raptor_core.models.money.ledger import Account, Ledger
from raptor_core.models.money.usage import estimate_tokens
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.base import EndpointPart
from raptor_core.tracing import model_values, record_messages, record_response, record_usage, span
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from openai import OpenAI

Result = TypeVar("Result")
Encoding = Literal["base64", "float"]


def read_kept(
    response: Any, ask: ChatAsk, secret: str = "", purpose: str = "summarizer"
) -> tuple[str, bool]:
    """Return what the question keeps of an answer, and whether that is only its beginning.

    A FaultError is raised for an answer of which nothing is kept.
    """
    cut: CallFaultError | None = None
    try:
        text = read_chat(response, secret, purpose)
    except CallFaultError as fault:
        text, cut = fault.text, fault
    kept = ask.trim(text, cut is not None) if text else ""
    if cut is not None and not kept:
        raise cut
    ask.check(kept)
    return kept, cut is not None or kept != text


_log = logging.getLogger(__name__)


class EndpointClient:
    """Client of one endpoint, for any number of threads.

    Neither ``repr`` nor any error shows the key. Every attempt is reserved in ``account``, or in
    the account of ``ledger`` for a purpose; without both it has no price. ``meter`` counts the
    usage of a call, also of a failed one. Once ``stop`` is set, no attempt begins.

    Raises:
        MissingKeyError: OpenAI's own API needs a key, and there is none; by each call.
        BudgetError: an attempt would exceed the run's budget; by each paid call.
        EndpointDownError: the endpoint stays down; by each paid call.
        EndpointError: the call failed for good; the message holds the last reason.
    """

    def __init__(
        self,
        endpoint: EndpointPart,
        policy: RetryPolicy | None = None,
        *,
        account: Account | None = None,
        ledger: Ledger | None = None,
        purpose: str = "",
    ) -> None:
        self.endpoint = endpoint = effective(endpoint)
        self._account = account or (ledger or Ledger()).account(
            purpose, endpoint.shown_model, free=endpoint.is_local
        )
        self._retrier = Retrier(policy or RetryPolicy(endpoint.max_retries))
        self._gate = Gate.of(endpoint)
        self._dialect = Dialect.of(endpoint)
        self._max_texts: int | None = None
        self._answering_model = ""
        self._lock = threading.Lock()
        self._connection: OpenAI | None = None

    def require_key(self) -> str:
        """Return the key to send, or a placeholder if the endpoint needs none."""
        endpoint = self.endpoint
        return find_key(endpoint.api_key_env, endpoint.base_url, endpoint.purpose)

    def look_up(self) -> None:
        """Check the key and the model's name for free; an endpoint without a list passes."""
        model = self.endpoint.model

        def ask() -> None:
            try:
                self._send(lambda c: c.models.retrieve(model))
            except FaultError as fault:
                is_absent = fault.is_down and fault.unbilled and fault.status is None
                if is_absent or is_refusal(fault, model):
                    raise

        self._retrier.run(ask, label=self._label("a look"))

    def cancel(self) -> None:
        """Give up the open attempts; the next call connects again."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def call(self, call: Callable[[OpenAI], Result], kind: str) -> Result:
        """Return the result of a free request; errors name it by its ``kind``."""
        return self._retrier.run(lambda: self._send(call), label=self._label(kind))

    def chat(self, ask: ChatAsk, *, meter: Meter | None = None, stop: Stop = None) -> ChatAnswer:
        """Return one complete answer."""
        counter = meter or Meter()
        n_too_long, n_unusable = 0, ask.n_unusable
        pleas: dict[str, None] = {}

        def note(fault: FaultError) -> None:
            nonlocal n_too_long, n_unusable
            n_too_long += fault.too_long
            n_unusable += isinstance(fault, CallFaultError)
            pleas.update({fault.plea: None} if fault.plea else {})
            counter.usage += self._account.count_retry()

        def attempt() -> tuple[str, bool]:
            shorten = [ask.shorten(n_too_long)] if n_too_long else []
            user = "\n\n".join([ask.user, *shorten, *pleas])
            response = self._chat(ask.for_retry(n_unusable), user, counter, stop)
            return read_kept(response, ask, self.require_key(), self.endpoint.purpose)

        label, previous = self._label("chat"), counter.usage
        values = self._span_values("chat")
        details = {"gen_ai.request.max_tokens": ask.max_tokens}
        with span(f"chat {self.endpoint.shown_model}", values | details, "CLIENT") as current:
            try:
                text, is_cut = self._retrier.run(attempt, label=label, stop=stop, on_retry=note)
            finally:
                usage = counter.usage
                n_input = usage.prompt_tokens - previous.prompt_tokens
                n_output = usage.completion_tokens - previous.completion_tokens
                record_usage(values, n_input, n_output)
            record_messages(current, ask.system, ask.user, text)
        return ChatAnswer(text, counter.usage, is_cut)

    def embed(
        self, texts: Sequence[str], *, stop: Stop = None, encoding: Encoding = "base64"
    ) -> Vectors:
        """Return vectors of ``texts`` in order, shape ``(len(texts), n_dims)``, not normalised.

        A call that is too large for the endpoint is halved, and the number of texts remembered.
        The AnswerError of a single text that is too long holds it. A call whose vectors are not
        finite is halved, too; the vector of a text that has none even alone stays as it is.
        """
        size = self._max_texts or len(texts)
        if len(texts) <= size:
            try:
                vectors = self._embed(texts, stop, encoding)
                if len(texts) == 1 or np.isfinite(vectors).all():
                    return vectors
                size = (len(texts) + 1) // 2
            except AnswerError as error:
                if error.kind not in {"context", "batch"}:
                    raise
                if len(texts) == 1:
                    raise AnswerError(str(error), error.kind, texts[0], comes_again=True) from error
                size = (len(texts) + 1) // 2
                if error.kind == "batch":
                    self._max_texts = min(size, self._max_texts or size)
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        return np.concatenate([self.embed(p, stop=stop, encoding=encoding) for p in parts])

    def _embed(self, texts: Sequence[str], stop: Stop, encoding: Encoding) -> Vectors:
        """Return the vectors of one request."""
        worst = Worst(sum(estimate_tokens(text) for text in texts), 0)

        def body() -> dict[str, Any]:
            fields: dict[str, Any] = {"model": self.endpoint.model, "input": list(texts)}
            accepts = self._dialect.accepts("encoding_format")
            # Without the field the vendor would demand base64.
            return {**fields, "encoding_format": encoding if accepts else "float"}

        def send(fields: Mapping[str, Any], connection: OpenAI) -> Any:
            return connection.embeddings.with_raw_response.create(**fields)

        meter = Meter()

        def attempt() -> Vectors:
            response = self._adapted(send, body, worst, meter, stop)
            self._warn_of_model(response)
            return read_embeddings(response, len(texts), self.require_key())

        label, values = self._label("embeddings"), self._span_values("embeddings")
        with span(f"embeddings {self.endpoint.shown_model}", values, "CLIENT"):
            try:
                return self._retrier.run(
                    attempt,
                    label=label,
                    stop=stop,
                    on_retry=lambda _fault: self._account.count_retry(),
                )
            finally:
                record_usage(values, meter.usage.prompt_tokens)

    def _warn_of_model(self, answer: Any) -> None:
        """Log once that an answer names another model than the settings."""
        model, named = self.endpoint.model, answer.get("model") if isinstance(answer, dict) else ""
        if isinstance(named, str) and named and model not in named and named not in model:
            with self._lock:
                is_new, self._answering_model = self._answering_model != named, named
            if is_new:
                _log.warning("embedder.model is %r, and the endpoint answers with %r", model, named)

    def _chat(self, ask: ChatAsk, user: str, meter: Meter, stop: Stop) -> Any:
        """Return the parsed answer to a chat request, which the endpoint may stream."""

        def body() -> dict[str, Any]:
            fields = self._dialect.chat_body(self.endpoint.model, ask, user)
            return {**fields, **self._dialect.stream_fields()}

        def send(fields: Mapping[str, Any], connection: OpenAI) -> Any:
            streaming = {key: fields[key] for key in ("stream", "stream_options") if key in fields}
            rest = {key: value for key, value in fields.items() if key not in streaming}
            # The vendor would read a stream itself; ours is joined below it.
            create = connection.chat.completions.with_raw_response.create
            return create(**rest, extra_body=streaming)

        return self._adapted(send, body, ask.worst(user), meter, stop)

    def _adapted(
        self,
        send: Callable[[Mapping[str, Any], OpenAI], Any],
        body: Callable[[], dict[str, Any]],
        worst: Worst,
        meter: Meter,
        stop: Stop,
    ) -> Any:
        """Return the answer to a paid request, without the fields that the endpoint refuses."""
        while True:
            fields = body()
            try:
                return self._paid(partial(send, fields), worst, meter, stop)
            except FaultError as fault:
                if not self._dialect.learn(fault.field, fields) and body() == fields:
                    raise  # neither this refusal nor one of another thread changes the request

    def _span_values(self, operation: str) -> dict[str, Any]:
        endpoint = self.endpoint
        address = "" if endpoint.is_local else endpoint.base_url
        provider = "llama.cpp" if endpoint.is_local else "openai"
        return model_values(operation, endpoint.shown_model, provider, address)

    def _label(self, kind: str) -> str:
        endpoint = self.endpoint
        place = "in this process" if endpoint.is_local else f"at {shown_url(endpoint.base_url)}"
        return f"{endpoint.purpose}: {kind} with {endpoint.shown_model!r} {place}"

    def _connect(self) -> OpenAI:
        with self._lock:
            if self._connection is None:
                self._connection = connect(self.endpoint, self.require_key())
                # The sockets close with the last reference to this client, or at exit.
                weakref.finalize(self, self._connection.close)
            return self._connection

    def _paid(self, call: Callable[[OpenAI], Any], worst: Worst, meter: Meter, stop: Stop) -> Any:
        """Return the response to a paid request, within the budget and the gate."""

        def send(connection: OpenAI) -> tuple[Any, Mapping[str, str]]:
            raw = call(connection)
            answer = parse(raw.content)
            check_error(answer, connection.api_key, self.endpoint.purpose)
            return answer, raw.headers

        self._connect()  # a missing key is an error before anything is reserved
        with self._account.reserve(*worst) as hold, ExitStack() as unsent:
            unsent.callback(hold.release)
            if stop is not None and stop.is_set():
                raise EndpointError(f"{self._label('the call')} was cancelled")
            with self._gate.turn(self.endpoint, sum(worst), stop) as answered:
                unsent.pop_all()
                try:
                    response, headers = self._send(send)
                except FaultError as fault:
                    if fault.unbilled:
                        hold.release()
                    raise
                answered(headers)
            meter.usage += hold.charge(read_usage(response, worst.prompt_tokens))
        record_response(response)
        return response

    def _send(self, call: Callable[[OpenAI], Result]) -> Result:
        """Return the result of one request, or raise its fault."""
        from openai import APIError

        connection = self._connect()
        try:
            return call(connection)
        # The last three come from JSON that the vendor cannot read: form, numbers, depth.
        except (APIError, FaultError, ValueError, OverflowError, RecursionError) as error:
            seconds, purpose = self.endpoint.timeout_seconds, self.endpoint.purpose
            fault = fault_of(error, seconds, connection.api_key, purpose)
        # Outside "except", so that the fault does not refer to the request, which holds the key.
        raise fault
