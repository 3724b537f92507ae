"""What a reader reads, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from raptor_core.models.money.usage import Usage
from raptor_core.nodes import Node, told_pages


@dataclass(frozen=True, slots=True)
class Passage:
    """One piece of context.

    ``span`` holds the first character in the document and the one after the last; None for a
    summary. ``source`` is the path or URL of a leaf's document, empty for a summary. ``pages`` are
    those of ``Node``.
    """

    text: str
    node_id: str
    documents: tuple[str, ...] = ()
    source: str = ""
    span: tuple[int, int] | None = None
    pages: tuple[int, ...] = ()

    @classmethod
    def from_node(cls, node: Node) -> Passage:
        """The passage that a node is."""
        return cls(
            text=node.text,
            node_id=node.id,
            documents=node.documents,
            source=node.source,
            span=(node.start, node.end) if node.is_leaf else None,
            pages=node.pages,
        )

    @property
    def place(self) -> str:
        """Where it stands, for people: the document and the characters, or what it summarizes."""
        if self.span is not None:
            document = self.documents[0] if self.documents else self.source
            return f"{document}:{self.span[0]}-{self.span[1]}{told_pages(self.pages)}"
        return f"summary over {', '.join(self.documents)}" if self.documents else self.source


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer from the context.

    ``[k]`` in ``text`` cites ``citations[k - 1]``; citations stand in the order in which they
    are first cited, each once. ``unknown_citations`` counts the numbers that the model cited
    though no passage has them; they are taken out of the text.
    """

    text: str
    citations: tuple[Passage, ...]
    usage: Usage = field(default_factory=Usage)
    unknown_citations: int = 0
