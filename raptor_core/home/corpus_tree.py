"""Answers about the whole corpus, from a layer of the corpus tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from raptor_core.errors import SettingsError
from raptor_core.models.money.ledger import Ledger
from raptor_core.models.money.usage import cost_usd, price_of
from raptor_core.models.reading.reader import Answer, Passage, read_parts
from raptor_core.nodes import Node, grouped
from raptor_core.settings import Settings
from raptor_core.tree.custom_components import reader_of

MAX_PARTS = 8
"""Maximum number of parts that the layer is cut into."""

_PROMPT_TOKENS = 160
"""Estimated tokens of the reader's instructions."""


@dataclass(frozen=True)
class CorpusAnswerPlan:
    """Plan of an answer about the corpus: the nodes to read and the cost, before any call.

    ``layer`` is the most detailed one that fits into ``MAX_PARTS`` contexts. ``parts`` are its
    nodes in document order, cut into contexts. There is a call for each part, and one to join
    several answers. Tokens and ``usd`` are estimated maxima; ``usd`` is None without a price.
    """

    layer: int
    parts: tuple[tuple[Node, ...], ...]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None

    @property
    def nodes(self) -> list[Node]:
        """All nodes to read."""
        return [node for part in self.parts for node in part]


def refuse_narrowing(filters: Mapping[str, object]) -> None:
    """Raise SettingsError for filters: an answer about the whole corpus reads a complete layer.

    ``filters`` are values that narrow a search, by name; empty values narrow nothing.
    """
    if names := [name for name, value in filters.items() if value not in (None, (), [], {})]:
        raise SettingsError(
            f"an answer about the whole corpus reads all of it, and takes no {', '.join(names)}; "
            "omit them, or ask with the scope trees"
        )


def plan_answer(nodes: Sequence[Node], settings: Settings, budget_tokens: int) -> CorpusAnswerPlan:
    """Plan an answer from all nodes of the corpus tree; each context takes ``budget_tokens``."""
    layers = grouped(nodes, lambda node: node.layer)
    cut = {number: _parts(members, budget_tokens) for number, members in layers.items()}
    layer = min((n for n, parts in cut.items() if len(parts) <= MAX_PARTS), default=max(cut))
    parts, reader = cut[layer], settings.reader
    between = len(parts) * reader.max_tokens if len(parts) > 1 else 0
    calls = len(parts) + bool(between)
    read = sum(node.n_tokens for node in layers[layer]) + between + calls * _PROMPT_TOKENS
    usd = cost_usd(price_of(reader, settings), read, calls * reader.max_tokens)
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
    """Answer a question by a plan, within the budget of the settings.

    Raises:
        MissingKeyError: the reader has no key.
        EndpointError: the reader failed.
        BudgetError: the budget ends first.
        SettingsError: the budget is in dollars, and the reader's model has no price.
    """
    ledger, reader = Ledger(settings.budget, settings.prices), settings.reader
    model, is_free = reader.shown_model, reader.is_local
    read_by = reader_of(settings, lambda: ledger.account("answers", model, free=is_free))
    parts = [[Passage.from_node(node) for node in part] for part in plan.parts]
    return read_parts(read_by, question, parts)


def layer_answer(nodes: Sequence[Node], budget_tokens: int) -> Answer:
    """Return the most detailed layer that fits the budget, as the answer without a reader."""
    layers = grouped(nodes, lambda node: node.layer)
    sizes = {number: sum(node.n_tokens for node in members) for number, members in layers.items()}
    shown = layers[min((n for n in sizes if sizes[n] <= budget_tokens), default=max(sizes))]
    lines = [
        f"{node.name}: {node.text} [{number}]" if node.name else f"{node.text} [{number}]"
        for number, node in enumerate(shown, 1)
    ]
    return Answer("\n\n".join(lines), tuple(Passage.from_node(node) for node in shown))
