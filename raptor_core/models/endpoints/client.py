"""The client: chat completions and embeddings, with retries, checks and counts."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from raptor_core.errors import EndpointError
from raptor_core.models.endpoints.answers import checked, read_chat, read_embeddings, read_usage
from raptor_core.models.endpoints.dialects import chat_body, connect, resolve_key, shown_url
from raptor_core.models.endpoints.faults import is_refusal, translated
from raptor_core.models.endpoints.gate import Gate
from raptor_core.models.endpoints.retry import FaultError, Retrier, RetryPolicy
from raptor_core.models.endpoints.values import ChatAnswer, ChatAsk, Meter, Worst
from raptor_core.models.money import Account, Ledger, estimate_tokens
from raptor_core.settings.endpoints import EndpointPart
from raptor_core.vectors import Vectors

if TYPE_CHECKING:
    from openai import OpenAI

Result = TypeVar("Result")
Given_co = TypeVar("Given_co", covariant=True)

Encoding = Literal["base64", "float"]
"""How an endpoint is asked to send vectors."""


class Raw(Protocol[Given_co]):
    """An answer of the client with its headers, still to be read."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By name, whatever its case."""

    def parse(self) -> Given_co:
        """What it says."""


class EndpointClient:
    """Calls one endpoint; may be used from many threads at once.

    The connection is made at the first call. Neither ``repr`` nor any error shows the key.
    ``policy`` is of retries; None has the settings' number. ``account`` is where every attempt is
    reserved before it is sent; None knows no bound and no price.
    """

    def __init__(
        self,
        endpoint: EndpointPart,
        policy: RetryPolicy | None = None,
        *,
        account: Account | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._account = account or Ledger().account(endpoint.purpose, endpoint.model)
        self._retrier = Retrier(policy or RetryPolicy(endpoint.max_retries))
        self._gate = Gate.of(endpoint)
        self._lock = threading.Lock()
        self._connection: OpenAI | None = None
        self._closer: weakref.finalize[[], EndpointClient] | None = None

    def __repr__(self) -> str:
        return f"EndpointClient({self.endpoint!r})"

    def require_key(self) -> None:
        """Checks that there is a key, or that none is needed.

        Raises:
            MissingKeyError: there is none, and OpenAI's own API needs it.
        """
        self._key()

    def look_up(self) -> None:
        """Asks whether the endpoint takes the key and has the model; costs nothing.

        An endpoint that keeps no list of models says nothing of the model, and is believed.

        Raises:
            MissingKeyError: see ``require_key``.
            EndpointError: it was not reached or refuses; the message holds its words.
        """
        model = self.endpoint.model

        def ask(connection: OpenAI) -> None:
            try:
                self._translated(connection, lambda: connection.models.retrieve(model))
            except FaultError as fault:
                if is_refusal(fault, model) or (fault.is_down and fault.status is None):
                    raise

        self.call(ask, "a look")

    def call(self, call: Callable[[OpenAI], Result], what: str) -> Result:
        """What a request gives that costs nothing; it is retried, and passes no gate.

        Raises:
            MissingKeyError: see ``require_key``.
            EndpointError: the endpoint failed for good; ``what`` names the request.
        """
        connection = self._connect()
        return self._retrier.run(
            lambda: self._translated(connection, lambda: call(connection)), what=self._what(what)
        )

    def chat(
        self, ask: ChatAsk, *, meter: Meter | None = None, stop: threading.Event | None = None
    ) -> ChatAnswer:
        """One whole answer.

        ``meter`` also counts what a failure took. Once ``stop`` is set, no attempt is begun.

        Raises:
            MissingKeyError: see ``require_key``.
            BudgetError: an attempt would pass the run's budget.
            EndpointDownError: the endpoint fails everybody, and was waited for.
            EndpointError: no whole answer after all retries; the message holds the last reason.
        """
        counter = meter or Meter()
        n_too_long = 0
        pleas: dict[str, None] = {}

        def note(fault: FaultError) -> None:
            nonlocal n_too_long
            n_too_long += fault.too_long
            pleas.update({fault.plea: None} if fault.plea else {})
            counter.add(self._account.count_retry())

        def attempt() -> str:
            more = [ask.shorten(n_too_long)] if n_too_long else []
            user = "\n\n".join([ask.user, *more, *pleas])
            response = self._paid(
                lambda c: c.chat.completions.with_raw_response.create(
                    **chat_body(self.endpoint, ask, user)
                ),
                ask.worst(user),
                counter,
                stop,
            )
            return checked(read_chat(response, self._key()), ask)

        text = self._retrier.run(attempt, what=self._what("chat"), stop=stop, on_retry=note)
        return ChatAnswer(text, counter.usage)

    def embed(
        self,
        texts: Sequence[str],
        *,
        meter: Meter | None = None,
        stop: threading.Event | None = None,
        encoding: Encoding = "base64",
    ) -> Vectors:
        """The vectors of ``texts`` in order, shape ``(len(texts), n_dims)``, as they were sent.

        base64 is a quarter of the bytes; most servers that know none send numbers all the same.
        ``meter`` also counts what a failure took. Once ``stop`` is set, no attempt is begun.

        Raises:
            MissingKeyError: see ``require_key``.
            BudgetError: an attempt would pass the run's budget.
            EndpointError: the endpoint failed for good.
        """
        counter = meter or Meter()

        worst = Worst(sum(estimate_tokens(text) for text in texts), 0)

        def attempt() -> Vectors:
            response = self._paid(
                lambda c: c.embeddings.with_raw_response.create(
                    model=self.endpoint.model, input=list(texts), encoding_format=encoding
                ),
                worst,
                counter,
                stop,
            )
            return read_embeddings(response, len(texts), self._key())

        return self._retrier.run(
            attempt,
            what=self._what("embeddings"),
            stop=stop,
            on_retry=lambda _fault: counter.add(self._account.count_retry()),
        )

    def close(self) -> None:
        """Closes the connections; the next call opens new ones."""
        with self._lock:
            self._connection = None
            if self._closer is not None:
                self._closer()

    def _what(self, kind: str) -> str:
        endpoint = self.endpoint
        return (
            f"{endpoint.purpose}: {kind} with {endpoint.model!r} at {shown_url(endpoint.base_url)}"
        )

    def _key(self) -> str:
        endpoint = self.endpoint
        return resolve_key(endpoint.api_key_env, endpoint.base_url, endpoint.purpose)

    def _connect(self) -> OpenAI:
        with self._lock:
            if self._connection is None:
                self._connection = connect(self.endpoint, self._key())
                # Closes the sockets when nobody holds this client any more, or at exit.
                self._closer = weakref.finalize(self, self._connection.close)
            return self._connection

    def _paid(
        self,
        call: Callable[[OpenAI], Raw[Result]],
        worst: Worst,
        meter: Meter,
        stop: threading.Event | None,
    ) -> Result:
        """What one request gave, within the budget and the gate; ``meter`` counts what it took.

        Raises:
            FaultError: it failed.
            BudgetError: it would pass the run's budget.
            EndpointDownError: the endpoint is down, and was waited for.
            EndpointError: ``stop`` was set while it waited for its turn or room in the budget.
        """
        self._connect()  # a missing key is told before anything is reserved
        tokens = worst.prompt_tokens + worst.completion_tokens
        with (
            self._account.reserve(worst.prompt_tokens, worst.completion_tokens) as hold,
            ExitStack() as unsent,
        ):
            unsent.callback(hold.forgive)
            if stop is not None and stop.is_set():
                raise EndpointError(f"{self._what('the call')} was cancelled")
            with self._gate.turn(self.endpoint, tokens, stop) as answered:
                unsent.pop_all()
                try:
                    response, headers = self._send(call)
                except FaultError as fault:
                    if fault.unbilled:
                        hold.forgive()
                    raise
                answered(headers)
            meter.add(hold.settle(read_usage(response, worst.prompt_tokens)))
        return response

    def _send(self, call: Callable[[OpenAI], Raw[Result]]) -> tuple[Result, Mapping[str, str]]:
        """What one request gave, and the headers.

        Raises:
            FaultError: it failed.
        """
        connection = self._connect()

        def send() -> tuple[Result, Mapping[str, str]]:
            raw = call(connection)
            return raw.parse(), raw.headers

        return self._translated(connection, send)

    def _translated(self, connection: OpenAI, call: Callable[[], Result]) -> Result:
        return translated(call, self.endpoint.timeout_seconds, connection.api_key)
