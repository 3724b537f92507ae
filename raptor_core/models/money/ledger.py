"""The ledger of a run, which counts its usage and enforces its budget.

The worst case of a call is reserved before the call, and its actual usage is charged afterwards.
Open calls count with their worst case, so no limit is exceeded, however many calls are open. If the
next call does not fit, the budget is exhausted, and every further reservation is rejected.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Self

from raptor_core.errors import BudgetError, SettingsError
from raptor_core.models.money.usage import FREE, Spending, Usage, cost_usd
from raptor_core.settings.base import BudgetSettings, PriceSettings, missing_price_message
from raptor_core.settings.models import Settings

BUDGET_ENDED = "the run stops, because its next call could exceed budget."
"""Beginning of the message of a BudgetError."""
_ROUNDING = 1e-9  # relative tolerance, because sums of floats are inexact


class Ledger:
    """The usage and the budget of a run; threads may share one object."""

    def __init__(
        self, budget: BudgetSettings | None = None, prices: Mapping[str, PriceSettings] = {}
    ) -> None:
        self._budget = budget or BudgetSettings()
        self._prices = prices
        self._lock = threading.RLock()
        self._spendings: dict[tuple[str, str], Spending] = {}
        self._reserved = Usage()
        self._n_reserved = 0
        self._end: str | None = None
        self._earlier = Usage()
        self._is_shared = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Ledger:
        """Return a ledger with the budget and the prices of the settings.

        Raises:
            SettingsError: the budget is in dollars, and a model has no price.
        """
        if settings.budget.usd is not None and settings.unpriced_models:
            raise SettingsError(missing_price_message(settings.unpriced_models[0]))
        return cls(settings.budget, settings.prices)

    def begin_run(self) -> None:
        """Begin a new run; calls that are still open count for the new run."""
        with self._lock:
            self._earlier = self._total_usage() if self._is_shared else Usage()
            self._spendings.clear()
            self._end = self._end if self._is_shared else None

    @contextmanager
    def share_budget(self) -> Iterator[None]:
        """Begin a run; runs that begin before the block ends share its budget."""
        is_outer = not self._is_shared
        self.begin_run()
        self._is_shared = True
        try:
            yield
        finally:
            self._is_shared = not is_outer

    @property
    def spendings(self) -> tuple[Spending, ...]:
        """Spending by purpose and model, sorted."""
        with self._lock:
            return tuple(self._spendings[key] for key in sorted(self._spendings))

    def spent(self, purpose: str | None = None) -> Usage:
        """Return the usage of answered calls, for a purpose or in total."""
        lines = (line.usage for line in self.spendings if purpose in (None, line.purpose))
        return sum(lines, Usage())

    def account(
        self, purpose: str, model: str, *, free: bool = False, share: float = 1
    ) -> SpendingAccount:
        """Return the account of a model for a purpose.

        Args:
            purpose: what the model is called for, such as ``SUMMARIES``.
            free: its calls cost nothing.
            share: share of the price that its calls cost, for example in a batch.

        Raises:
            SettingsError: the budget is in dollars, and the model has no price.
        """
        price = FREE if free else self._prices.get(model)
        if price is None and self._budget.usd is not None:
            raise SettingsError(missing_price_message(model))
        return SpendingAccount(self, purpose, model, price, share)

    def reserve(self, worst: Usage) -> None:
        """Reserve the ``worst`` usage of a call.

        Raises:
            BudgetError: it does not fit in addition to the open calls, or an earlier one did not.
        """
        with self._lock:
            spent = self._total_usage()
            bound = self._exceeded_limit(spent + self._reserved + worst)
            if self._end is None and bound is not None:
                self._end = self._budget_message(bound, spent, worst)
            if self._end is not None:
                raise BudgetError(self._end)
            self._reserved += worst
            self._n_reserved += 1

    def release(self, worst: Usage, spending: Spending) -> None:
        """End a reservation and count the actual usage of its call."""
        with self._lock:
            self._n_reserved -= 1
            self._reserved = self._reserved - worst if self._n_reserved else Usage()
            self.count_spending(spending)

    def count_spending(self, more: Spending) -> None:
        """Add spending, with or without a reservation."""
        key = (more.purpose, more.model)
        with self._lock:
            old = self._spendings.get(key, Spending(*key))
            usage, lost = old.usage + more.usage, old.lost_usage + more.lost_usage
            self._spendings[key] = replace(old, usage=usage, lost_usage=lost)

    def _total_usage(self) -> Usage:
        return sum((s.usage + s.lost_usage for s in self._spendings.values()), self._earlier)

    def _exceeded_limit(self, usage: Usage) -> str | None:
        """Return the name of the first limit that ``usage`` exceeds, or None."""
        budget = self._budget
        if budget.calls is not None and usage.calls > budget.calls:
            return "calls"
        if budget.tokens is not None and usage.tokens > budget.tokens:
            return "tokens"
        if budget.usd is not None and (usage.usd or 0.0) > budget.usd * (1 + _ROUNDING):
            return "usd"
        return None

    def _budget_message(self, bound: str, spent: Usage, worst: Usage) -> str:
        needed = {
            "calls": f"{worst.calls} call",
            "tokens": f"up to {worst.tokens:,} tokens",
            "usd": f"up to {worst.usd or 0:.6g} USD",
        }
        money = "an unknown sum (no price is set)" if spent.usd is None else f"{spent.usd:.6g} USD"
        return (
            f"{BUDGET_ENDED}{bound} = "
            f"{getattr(self._budget, bound)}: {spent.calls:,} calls with {spent.tokens:,} tokens "
            f"cost {money}, and the next call could cost {needed[bound]} more, in addition to "
            f"{self._n_reserved:,} unfinished calls. All finished work is kept, and published "
            f"trees are unchanged. Run again to continue from there, or raise budget.{bound}"
        )


class SpendingAccount:
    """The calls of a model for a purpose; ``no_spending`` is their empty ``Spending``."""

    def __init__(
        self, ledger: Ledger, purpose: str, model: str, price: PriceSettings | None, share: float
    ) -> None:
        self.ledger = ledger
        self.no_spending = Spending(purpose, model)
        self._price, self._share = price, share
        self._factor = 1.0

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> Reservation:
        """Reserve the worst case of a call.

        ``prompt_tokens`` may be an estimate. If the endpoint counted more tokens than an earlier
        estimate, this one is raised in proportion.

        Raises:
            BudgetError: see ``Ledger.reserve``.
        """
        worst = self._worst_usage(prompt_tokens, completion_tokens)
        self.ledger.reserve(worst)
        return Reservation(self, worst, prompt_tokens)

    def reserve_affordable(self, calls: Iterable[tuple[int, int]]) -> list[Reservation]:
        """Reserve these calls in order, as many as fit into the budget."""
        reservations: list[Reservation] = []
        with suppress(BudgetError):
            for call in calls:
                reservations.append(self.reserve(*call))  # noqa: PERF401  # keeps earlier ones
        return reservations

    def count_retry(self) -> Usage:
        """Count a retry and return the usage to add to that of the call."""
        return self._count_paid_call(Usage(retries=1))

    def count_paid_call(self, usage: Usage) -> Usage:
        """Count a call that was already paid for, and return its usage with the price.

        It needs no reservation, and the budget does not apply.
        """
        return self._count_paid_call(self.add_price(usage))

    def add_price(self, usage: Usage, estimate_tokens: int = 0) -> Usage:
        """Return the usage with its price; if the estimate was too low, raise the next ones."""
        if estimate_tokens:
            self._factor = max(self._factor, usage.prompt_tokens / estimate_tokens)
        return replace(usage, usd=self._cost_usd(usage.prompt_tokens, usage.completion_tokens))

    def _count_paid_call(self, usage: Usage) -> Usage:
        self.ledger.count_spending(replace(self.no_spending, usage=usage))
        return usage

    def _worst_usage(self, prompt_tokens: int, completion_tokens: int) -> Usage:
        prompt = round(prompt_tokens * self._factor)
        usd = self._cost_usd(prompt, completion_tokens)
        return Usage(1, prompt, completion_tokens, usd=usd)

    def _cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        return cost_usd(self._price, prompt_tokens, completion_tokens, self._share)


class Reservation:
    """The reservation of a call, as a context manager; a call without a charge counts as lost."""

    def __init__(self, account: SpendingAccount, worst: Usage, prompt_tokens: int) -> None:
        self.worst = worst
        self._prompt_tokens = prompt_tokens
        self._account = account
        self.is_open = True

    def charge(self, usage: Usage) -> Usage:
        """End the reservation with the usage of the call, and return it with its price."""
        paid = self._account.add_price(usage, self._prompt_tokens)
        self._end_reservation(replace(self._account.no_spending, usage=paid))
        return paid

    def release(self) -> None:
        """End the reservation of a call that used nothing."""
        self._end_reservation(self._account.no_spending)

    def _end_reservation(self, spending: Spending) -> None:
        if not self.is_open:
            raise ValueError("this reservation has already ended")
        self.is_open = False
        self._account.ledger.release(self.worst, spending)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.is_open:
            self._end_reservation(replace(self._account.no_spending, lost_usage=self.worst))
