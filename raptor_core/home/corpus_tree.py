"""Answers about the whole corpus, from a layer of the corpus tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.errors import SettingsError
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import cost_usd
from raptor_core.models.reading.reader import Answer, Passage, Reader
from raptor_core.nodes import Node, grouped
from raptor_core.settings import Settings

MAX_PARTS = 8
"""Parts that the layer read is cut into at the most."""

_PROMPT_TOKENS = 160
"""Of the reader's own words, about."""


@dataclass(frozen=True)
class CorpusAnswerPlan:
    """What answering a question about the corpus reads and takes, before any call.

    Attributes:
        layer: the one read, the most detailed that fits into ``MAX_PARTS`` contexts.
        parts: its nodes in document order, cut into contexts.
        calls: one for each part, and one over their answers where there are several.
        prompt_tokens, completion_tokens: so many about, at the most.
        usd: None where the reader's model has no price.
    """

    layer: int
    parts: tuple[tuple[Node, ...], ...]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None

    @property
    def nodes(self) -> list[Node]:
        """All that is read."""
        return [node for part in self.parts for node in part]


def refuse_narrowing(given: Mapping[str, object]) -> None:
    """Refuse what narrows a search: an answer about the whole corpus reads a layer, all of it.

    Args:
        given: what narrows a search, by name; empty values narrow nothing.

    Raises:
        SettingsError: names those that were given.
    """
    if named := [name for name, value in given.items() if value not in (None, (), [], {})]:
        raise SettingsError(
            f"an answer about the whole corpus reads all of it, and takes no {', '.join(named)}; "
            "leave them out, or ask with the scope trees"
        )


def plan_answer(nodes: Sequence[Node], settings: Settings, budget_tokens: int) -> CorpusAnswerPlan:
    """The plan over all nodes of the corpus tree; ``budget_tokens`` are of one context."""
    layers = grouped(nodes, lambda node: node.layer)
    cut = {number: _parts(members, budget_tokens) for number, members in layers.items()}
    layer = min((n for n, parts in cut.items() if len(parts) <= MAX_PARTS), default=max(cut))
    parts, reader = cut[layer], settings.reader
    between = len(parts) * reader.max_tokens if len(parts) > 1 else 0
    calls = len(parts) + bool(between)
    read = sum(node.n_tokens for node in layers[layer]) + between + calls * _PROMPT_TOKENS
    usd = cost_usd(settings.prices.get(reader.model), read, calls * reader.max_tokens)
    return CorpusAnswerPlan(layer, parts, calls, read, calls * reader.max_tokens, usd)


def _parts(nodes: Sequence[Node], budget_tokens: int) -> tuple[tuple[Node, ...], ...]:
    parts: list[list[Node]] = []
    room = 0
    for node in nodes:
        if not parts or node.n_tokens > room:
            parts.append([])
            room = budget_tokens
        parts[-1].append(node)
        room -= node.n_tokens
    return tuple(map(tuple, parts))


def answer_by(plan: CorpusAnswerPlan, question: str, settings: Settings) -> Answer:
    """The answer from a plan, within the budget of the settings.

    Raises:
        MissingKeyError: no reader can be asked.
        EndpointError: it failed.
        BudgetError: the budget ends first.
        SettingsError: the budget is in dollars, and the reader's model has no price.
    """
    account = Ledger(settings.budget, settings.prices).account("answers", settings.reader.model)
    parts = [[Passage.from_node(node) for node in part] for part in plan.parts]
    return Reader(settings.reader, account=account).read_parts(question, parts)


def layer_answer(nodes: Sequence[Node], budget_tokens: int) -> Answer:
    """The overview itself, where no reader can be asked: the most detailed layer that fits."""
    layers = grouped(nodes, lambda node: node.layer)
    sizes = {number: sum(node.n_tokens for node in members) for number, members in layers.items()}
    shown = layers[min((n for n in sizes if sizes[n] <= budget_tokens), default=max(sizes))]
    lines = [
        f"{node.name}: {node.text} [{number}]" if node.name else f"{node.text} [{number}]"
        for number, node in enumerate(shown, 1)
    ]
    return Answer("\n\n".join(lines), tuple(Passage.from_node(node) for node in shown))
