"""Reserving and settling the calls of one model."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, Self

from raptor_core.models.money.prices import FREE, cost_usd
from raptor_core.models.money.spending import Spending
from raptor_core.models.money.usage import Usage
from raptor_core.settings.spending import PriceSettings


class Book(Protocol):
    """Where reservations and spendings are written: the ledger, as an account sees it."""

    def hold(self, worst: Usage, *, wait: bool) -> bool:
        """Reserve ``worst``; False where it would have to wait and may not.

        Raises:
            BudgetError: a bound of the budget would be passed.
        """

    def release(self, worst: Usage, spending: Spending) -> None:
        """End a reservation and count what came of it."""

    def count(self, spending: Spending) -> None:
        """Count what needs no reservation."""


class Account:
    """Calls of one model for one purpose."""

    def __init__(self, book: Book, purpose: str, model: str, price: PriceSettings | None) -> None:
        self.purpose = purpose
        self.model = model
        self._book = book
        self._price = price
        self._factor = 1.0

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> Hold:
        """Hold what one call takes at the worst; waits for calls under way where they decide.

        ``prompt_tokens`` may be an estimate: where the endpoint has counted more before than was
        reserved, it is raised by as much.

        Raises:
            BudgetError: a bound of the budget would be passed.
        """
        worst = self._worst(prompt_tokens, completion_tokens)
        self._book.hold(worst, wait=True)
        return Hold(self, worst, prompt_tokens)

    def try_reserve(self, prompt_tokens: int, completion_tokens: int) -> Hold | None:
        """As ``reserve``; None where it would have to wait for calls under way."""
        worst = self._worst(prompt_tokens, completion_tokens)
        held = self._book.hold(worst, wait=False)
        return Hold(self, worst, prompt_tokens) if held else None

    def count_retry(self) -> Usage:
        """Count one more attempt; what to add to the call's usage."""
        usage = Usage(retries=1)
        self._book.count(Spending(self.purpose, self.model, usage))
        return usage

    def count(self, usage: Usage) -> Usage:
        """Count a call that was paid for before, without a reservation; the usage with its price.

        No bound of the budget stops what is bought already.
        """
        paid = self._priced(usage)
        self._book.count(Spending(self.purpose, self.model, paid))
        return paid

    def settle(self, hold: Hold, usage: Usage) -> Usage:
        """End a reservation with what the call took; that usage with its price.

        Of what is free, the usage itself says what it cost.
        """
        if hold.prompt_tokens:
            self._factor = max(self._factor, usage.prompt_tokens / hold.prompt_tokens)
        paid = self._priced(usage)
        self._book.release(hold.worst, Spending(self.purpose, self.model, paid))
        return paid

    def forgive(self, hold: Hold) -> None:
        """End a reservation of a call that took nothing."""
        self._book.release(hold.worst, Spending(self.purpose, self.model))

    def lose(self, hold: Hold) -> None:
        """End a reservation of a call that took nobody knows what: at the worst all of it."""
        self._book.release(hold.worst, Spending(self.purpose, self.model, lost=hold.worst))

    def _priced(self, usage: Usage) -> Usage:
        if self._price is FREE:
            return usage
        usd = cost_usd(self._price, usage.prompt_tokens, usage.completion_tokens)
        return replace(usage, usd=usd)

    def _worst(self, prompt_tokens: int, completion_tokens: int) -> Usage:
        prompt = round(prompt_tokens * self._factor)
        usd = cost_usd(self._price, prompt, completion_tokens)
        return Usage(1, prompt, completion_tokens, usd=usd)


class Hold:
    """A reservation; a context manager. What is not settled or forgiven when it ends was lost."""

    def __init__(self, account: Account, worst: Usage, prompt_tokens: int) -> None:
        self.worst = worst
        self.prompt_tokens = prompt_tokens
        self._account: Account | None = account

    def settle(self, usage: Usage) -> Usage:
        """See ``Account.settle``.

        Raises:
            ValueError: it has ended already.
        """
        return self._end().settle(self, usage)

    def forgive(self) -> None:
        """See ``Account.forgive``.

        Raises:
            ValueError: it has ended already.
        """
        self._end().forgive(self)

    def forgive_if_open(self) -> None:
        """As ``forgive``; nothing where it has ended already."""
        if self._account is not None:
            self.forgive()

    def _end(self) -> Account:
        account, self._account = self._account, None
        if account is None:
            raise ValueError("this reservation has ended already")
        return account

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._account is not None:
            account = self._end()
            account.lose(self)
