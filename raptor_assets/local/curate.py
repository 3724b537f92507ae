"""Decisions on published nodes and documents, for the command and the server.

The next build applies them, see ``raptor_core.curation``.
"""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from raptor_assets.assets.names import CHAIN_NAMES
from raptor_assets.home.access import CorpusAccess
from raptor_assets.home.folder import Home
from raptor_core.curation import (
    RIGHT,
    WRONG,
    Curation,
    Decision,
    Kind,
    subject_of_chunk,
    subject_of_finding,
    subject_of_summary,
)
from raptor_core.documents import partition_key
from raptor_core.errors import CurationError, UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.identity import to_nfc
from raptor_core.nodes import Node
from raptor_core.store.base import Where
from raptor_core.tables.curation import (
    not_in_force_error,
    read_decisions,
    record_decision,
    undo_decision,
)
from raptor_core.tables.values import table_to_documents, table_to_nodes
from raptor_core.tree.corpus_tree import corpus_tree_settings, is_corpus_tree

ABOUT_CHARS = 120


@dataclass(frozen=True, slots=True)
class Author:
    """Person who decides, and the reason.

    Trusted code may give any name. A server gives that of the caller's key or token.
    """

    who: str
    why: str = ""

    def __post_init__(self) -> None:
        if not self.who.strip():
            raise CurationError("a decision needs the name of the person who decides")


class Curator:
    """Recorder of decisions on the published nodes and documents of a home.

    Published trees do not change before the next build. Methods raise CurationError where a
    decision is not possible, UnknownTreeError for an unknown id, TableError if the record fails.
    """

    def __init__(self, home: str | Path | None = None) -> None:
        opened, self._settings = Home.open_with_settings(home)
        access = CorpusAccess(self._settings, opened)
        self._tables, self._tree_of = access.tables, access.source.tree_of
        self._corpus_tree_tables = opened.corpus_tree.table_store(
            corpus_tree_settings(self._settings)
        )
        self._published = HomeRetriever(opened.path, is_operator=True)

    def for_readers(self, readers: Sequence[str] | None) -> Self:
        """Return the recorder for a caller, who decides on what these readers may read.

        It lists and takes back the decisions on published documents that they may read.
        """
        bound = copy(self)
        bound._published = self._published.for_readers(readers)  # noqa: SLF001
        return bound

    def list_decisions(self) -> list[Decision]:
        """Return all decisions, oldest first, with those that were taken back."""
        decisions = []
        for tables in (self._tables, self._corpus_tree_tables):
            may_read = self._make_permission_check(above=tables is self._corpus_tree_tables)
            decisions += [d for d in read_decisions(tables) if may_read(d.documents)]
        return sorted(decisions, key=lambda decision: decision.id)

    def set_document_aside(self, document: str, author: Author) -> Decision:
        """Leave a document out of its tree from the next build on."""
        document = to_nfc(document)
        leaves = self._published_leaves(document)
        if leaves:
            tree, about = leaves[0].tree, str(leaves[0].metadata.get("title", "")) or document
        elif self._published.readers is None and self._was_read_by_build(document):
            tree, about = self._tree_of(document), document
        else:
            raise CurationError(
                f"no document {document!r} was built; `raptor status` lists the trees, "
                "`raptor tree TREE` their documents"
            )
        return self._record_decision("document", tree, (document,), document, "", about, author)

    def _published_leaves(self, document: str) -> list[Node]:
        where = Where(documents=(document,), layers=(0,))
        try:
            return self._published.call_with_home(
                None, lambda _home, _settings, store: store.nodes(where)
            )
        except UnknownTreeError:  # nothing is published
            return []

    def _was_read_by_build(self, document: str) -> bool:
        """Return whether a build read a document, published or not."""
        tree = self._tree_of(document)
        partition = partition_key(tree, self._settings.grouping)
        table = self._tables.read_if_exists(CHAIN_NAMES.documents.table_path, partition)
        known = {} if table is None else table_to_documents(table)
        return any(item.id == document for item in known.get(tree, ()))

    def _make_permission_check(self, *, above: bool) -> Callable[[Collection[str]], bool]:
        """Return a function that says whether the caller may read published documents.

        Those of corpus trees, ``above``, are names of trees.
        """
        if self._published.readers is None:
            return lambda _: True
        manifests = (m for m in self._published.manifests() if is_corpus_tree(m.tree) == above)
        known = {document for manifest in manifests for document in manifest.documents}
        return lambda documents: bool(documents) and known.issuperset(documents)

    def set_chunk_aside(self, node_id: str, author: Author) -> Decision:
        """Leave a chunk out of its tree and out of all summaries, from the next build on."""
        node = self._published.family(node_id).node
        if not node.is_leaf:
            raise CurationError(
                f"node {node_id} is a summary of its children; set chunks aside, or correct it"
            )
        return self._set_aside(node, author)

    def set_span_aside(self, document: str, start: int, end: int, author: Author) -> Decision:
        """Leave a chunk out, by its span of a document; its tree may be unpublished."""
        tree = self._tree_of(document)
        table = self._tables.read_if_exists(
            CHAIN_NAMES.chunks.table_path, partition_key(tree, self._settings.grouping)
        )
        for node in () if table is None else table_to_nodes(table):
            if (node.tree, node.documents, node.start, node.end) == (tree, (document,), start, end):
                return self._set_aside(node, author)
        raise CurationError(
            f"no build made a chunk of {document!r} from character {start} to {end}; the message "
            "of a failed summary and `raptor tree TREE --ids` name the chunks that there are"
        )

    def _set_aside(self, leaf: Node, author: Author) -> Decision:
        (document,) = leaf.documents
        partition = partition_key(leaf.tree, self._settings.grouping)
        table = self._tables.read_if_exists(CHAIN_NAMES.chunks.table_path, partition)
        cut = Curation(read_decisions(self._tables)).excludes_chunk
        chunks = {
            n.content_key
            for n in (table_to_nodes(table) if table else ())
            if n.documents == (document,)
        }
        if chunks and all(key == leaf.content_key or cut(document, key) for key in chunks):
            raise CurationError(
                f"this is the only chunk left of {document!r}; set the whole document aside"
            )
        subject = subject_of_chunk(leaf.documents[0], leaf.content_key)
        return self._record_decision(
            "chunk", leaf.tree, leaf.documents, subject, "", leaf.text, author
        )

    def correct_summary(self, node_id: str, text: str, author: Author) -> Decision:
        """Replace a summary's text for as long as it summarizes the same nodes."""
        node, children = self._find_summary(node_id)
        if not text.strip():
            raise CurationError("the corrected text is blank; give the summary's whole new text")
        subject = subject_of_summary(node.documents, (child.content_key for child in children))
        text = text.strip()
        return self._record_decision(
            "summary", node.tree, node.documents, subject, text, node.text, author
        )

    def mark_finding(self, node_id: str, sentence: str, value: str, author: Author) -> Decision:
        """Confirm or reject the finding that nothing supports a sentence of a summary."""
        node, _ = self._find_summary(node_id)
        if value not in (RIGHT, WRONG):
            raise CurationError(f"a finding is {RIGHT!r} or {WRONG!r}, not {value!r}")
        if sentence not in node.text:
            raise CurationError(f"summary {node_id} has no sentence {sentence!r}")
        subject = subject_of_finding(node_id, sentence)
        return self._record_decision(
            "finding", node.tree, node.documents, subject, value, sentence, author
        )

    def undo_decision(self, decision_id: str, author: Author) -> Decision:
        """Undo a decision, from the next build on."""
        if decision_id not in {decision.id for decision in self.list_decisions()}:
            raise not_in_force_error(decision_id)
        above = {decision.id for decision in read_decisions(self._corpus_tree_tables)}
        tables = self._corpus_tree_tables if decision_id in above else self._tables
        return undo_decision(tables, decision_id, who=author.who, why=author.why)

    def _find_summary(self, node_id: str) -> tuple[Node, tuple[Node, ...]]:
        family = self._published.family(node_id)
        if family.node.is_leaf:
            raise CurationError(
                f"node {node_id} is a chunk, the document's own words; set it aside, or edit the "
                "document"
            )
        return family.node, family.children

    def _record_decision(
        self,
        kind: Kind,
        tree: str,
        documents: tuple[str, ...],
        subject: str,
        value: str,
        about: str,
        author: Author,
    ) -> Decision:
        return record_decision(
            self._corpus_tree_tables if is_corpus_tree(tree) else self._tables,
            kind,
            tree,
            subject,
            documents=documents,
            value=value,
            about=" ".join(about.split())[:ABOUT_CHARS],
            who=author.who,
            why=author.why,
        )
