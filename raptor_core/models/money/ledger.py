"""What a run has spent, and the bounds that it does not pass.

Before a call its worst case is reserved; afterwards what it took is settled. Calls under way
count with their worst case, so that no bound is passed however many are made at once. A call
that would fit once those under way have settled for less waits for them; one that would not
fit even then ends the budget: from there on every reservation is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Self

from raptor_core.errors import BudgetError, SettingsError
from raptor_core.models.money.usage import FREE, Spending, Usage, cost_usd, part_of
from raptor_core.settings.base import BudgetSettings, PriceSettings, missing_price
from raptor_core.settings.models import Settings

_ROUNDING = 1e-9  # relative; sums of dollars end in a wrong last bit


class Ledger:
    """Spendings of one run and its budget; may be used from many threads at once."""

    def __init__(
        self,
        budget: BudgetSettings | None = None,
        prices: Mapping[str, PriceSettings] | None = None,
    ) -> None:
        self._budget = budget or BudgetSettings()
        self._prices = prices or {}
        self._turn = threading.Condition()
        self._spendings: dict[tuple[str, str], Spending] = {}
        self._held = Usage()
        self._n_held = 0
        self._end: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> Ledger:
        """A ledger with the settings' budget and prices.

        Raises:
            SettingsError: the budget is in dollars, and an endpoint's model has no price.
        """
        if settings.budget.usd is not None and settings.unpriced_models:
            raise SettingsError(missing_price(settings.unpriced_models[0]))
        return cls(settings.budget, settings.prices)

    def begin(self) -> None:
        """Begin a run: nothing is spent. Calls under way would be counted in the new run."""
        with self._turn:
            self._spendings.clear()
            self._end = None

    @property
    def spendings(self) -> tuple[Spending, ...]:
        """By purpose and model, sorted."""
        with self._turn:
            return tuple(self._spendings[key] for key in sorted(self._spendings))

    def spent(self, purpose: str | None = None) -> Usage:
        """What answered calls took, for one purpose or in all."""
        lines = (line.usage for line in self.spendings if purpose in (None, line.purpose))
        return sum(lines, Usage())

    def account(
        self, purpose: str, model: str, *, free: bool = False, share: float = 1.0
    ) -> Account:
        """Where calls of one model for one purpose are reserved and settled; ``free`` costs 0.

        ``share`` is of the price in the settings, for calls that cost less.

        Raises:
            SettingsError: the budget is in dollars, and the model has no price.
        """
        price = FREE if free else self._prices.get(model)
        if price is None and self._budget.usd is not None:
            raise SettingsError(missing_price(model))
        return Account(self, purpose, model, part_of(price, share))

    def hold(self, worst: Usage, *, wait: bool) -> bool:
        """Reserve ``worst``, or end the budget; see ``Account.reserve``.

        Raises:
            BudgetError: it does not fit beside what is spent, or the budget has ended before.
        """
        with self._turn:
            while True:
                spent = self._counted()
                bound = self._passed(spent + worst)
                if self._end is None and bound is not None:
                    self._end = self._told(bound, spent, worst)
                    self._turn.notify_all()
                if self._end is not None:
                    raise BudgetError(self._end)
                if self._passed(spent + self._held + worst) is None:
                    self._held += worst
                    self._n_held += 1
                    return True
                if not wait:
                    return False
                self._turn.wait()

    def release(self, worst: Usage, spending: Spending) -> None:
        """End a reservation and count what came of it."""
        with self._turn:
            self._n_held -= 1
            self._held = self._held - worst if self._n_held else Usage()
            self.count(spending)
            self._turn.notify_all()

    def count(self, more: Spending) -> None:
        """Count what needs no reservation, or ends one."""
        key = (more.purpose, more.model)
        with self._turn:
            old = self._spendings.get(key, Spending(*key))
            usage, lost = old.usage + more.usage, old.lost + more.lost
            self._spendings[key] = replace(old, usage=usage, lost=lost)

    def _counted(self) -> Usage:
        return sum((s.usage + s.lost for s in self._spendings.values()), Usage())

    def _passed(self, usage: Usage) -> str | None:
        """Name of the first bound that ``usage`` would pass."""
        budget = self._budget
        if budget.calls is not None and usage.calls > budget.calls:
            return "calls"
        if budget.tokens is not None and usage.tokens > budget.tokens:
            return "tokens"
        if budget.usd is not None and (usage.usd or 0.0) > budget.usd * (1 + _ROUNDING):
            return "usd"
        return None

    def _told(self, bound: str, spent: Usage, worst: Usage) -> str:
        needed = {
            "calls": f"{worst.calls} call",
            "tokens": f"up to {worst.tokens:,} tokens",
            "usd": f"up to {worst.usd or 0:.6g} USD",
        }
        money = "an unknown sum (no price is set)" if spent.usd is None else f"{spent.usd:.6g} USD"
        return (
            f"the run stops before it would pass budget.{bound} = "
            f"{getattr(self._budget, bound)}: {spent.calls:,} calls with {spent.tokens:,} tokens "
            f"took {money}, and the next would take {needed[bound]} more. Everything finished is "
            "kept, and what was published stays. Run again to go on from there, or raise "
            f"budget.{bound}"
        )


class Account:
    """Calls of one model for one purpose; ``nothing`` is a spending of nothing there."""

    def __init__(
        self, ledger: Ledger, purpose: str, model: str, price: PriceSettings | None
    ) -> None:
        self.ledger = ledger
        self.nothing = Spending(purpose, model)
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
        self.ledger.hold(worst, wait=True)
        return Hold(self, worst, prompt_tokens)

    def reserve_some(self, calls: Iterable[tuple[int, int]]) -> list[Hold]:
        """As ``reserve`` for the first of these calls: as many as fit without waiting for others.

        Where the budget ends, ``reserve`` for the next one says so.
        """
        holds: list[Hold] = []
        with suppress(BudgetError):
            for prompt_tokens, completion_tokens in calls:
                worst = self._worst(prompt_tokens, completion_tokens)
                if not self.ledger.hold(worst, wait=False):
                    break
                holds.append(Hold(self, worst, prompt_tokens))
        return holds

    def count_retry(self) -> Usage:
        """Count one more attempt; what to add to the call's usage."""
        return self._count(Usage(retries=1))

    def count(self, usage: Usage) -> Usage:
        """Count a call that was paid for before, without a reservation; the usage with its price.

        No bound of the budget stops what is bought already.
        """
        return self._count(self.priced(usage))

    def priced(self, usage: Usage, estimate_tokens: int = 0) -> Usage:
        """The usage with its price; of what is free, it says itself what it cost.

        A prompt that was longer than its estimate raises the next reservations.
        """
        if estimate_tokens:
            self._factor = max(self._factor, usage.prompt_tokens / estimate_tokens)
        if self._price is FREE:
            return usage
        usd = cost_usd(self._price, usage.prompt_tokens, usage.completion_tokens)
        return replace(usage, usd=usd)

    def _count(self, usage: Usage) -> Usage:
        self.ledger.count(replace(self.nothing, usage=usage))
        return usage

    def _worst(self, prompt_tokens: int, completion_tokens: int) -> Usage:
        prompt = round(prompt_tokens * self._factor)
        usd = cost_usd(self._price, prompt, completion_tokens)
        return Usage(1, prompt, completion_tokens, usd=usd)


class Hold:
    """A reservation; a context manager. What is not settled or forgiven when it ends was lost."""

    def __init__(self, account: Account, worst: Usage, prompt_tokens: int) -> None:
        self.worst = worst
        self._prompt_tokens = prompt_tokens
        self._account = account
        self.is_open = True

    def settle(self, usage: Usage) -> Usage:
        """End it with what the call took; that usage with its price."""
        paid = self._account.priced(usage, self._prompt_tokens)
        self._end(replace(self._account.nothing, usage=paid))
        return paid

    def forgive(self) -> None:
        """End it: the call took nothing."""
        self._end(self._account.nothing)

    def _end(self, spending: Spending) -> None:
        if not self.is_open:
            raise ValueError("this reservation has ended already")
        self.is_open = False
        self._account.ledger.release(self.worst, spending)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.is_open:
            self._end(replace(self._account.nothing, lost=self.worst))
