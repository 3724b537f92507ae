"""``documents`` and ``chunks``: what the source holds of each partition, and its leaves."""

from __future__ import annotations

from raptor_assets import keys
from raptor_assets.metadata import documents_metadata, nodes_metadata
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext, Trees
from raptor_assets.steps.base import EachAlone, inputs_digest
from raptor_assets.versions import documents_version, nodes_version
from raptor_core.errors import EmptySourceError, SourceError
from raptor_core.nodes import Node
from raptor_core.quality.checks import Verdict
from raptor_core.quality.document_text import evaluate_document_text, measure_document_text
from raptor_core.quality.sizes import CheckedChunks, chunk_length
from raptor_core.tables.values import documents_to_table, nodes_to_table
from raptor_core.tree.leaves import make_leaves


class DocumentsStep(EachAlone):
    """Reads the source once and writes each partition's part of it."""

    key = keys.DOCUMENTS

    def make(self, state: PartitionState) -> StepResult:
        """See ``EachAlone.make``."""
        context = state.context
        trees = context.partitions.get(state.name)
        if not trees:
            raise SourceError(
                f"the source holds no document of partition {state.name!r}; it was removed or "
                "regrouped. Run the job drop_partitions for it (the sensor and `raptor build` do "
                "so themselves)"
            )
        state.put_documents(trees)
        version = documents_version(trees, context.components.curation)
        reused = state.recorded_version(self.key, version) == version
        if not reused:
            state.save(self.key, documents_to_table(trees), version, version)
        n_rows = sum(len(members) for members in trees.values())
        metadata = documents_metadata(trees, context.corpus)
        return StepResult(state, version, metadata, n_rows, reused, [_verdict(trees, context)])

    def check(self, state: PartitionState) -> list[Verdict]:
        """See ``CheckedStep.check``."""
        return [_verdict(state.documents(), state.context)]


def _verdict(trees: Trees, context: RunContext) -> Verdict:
    documents = {d.id: d for members in trees.values() for d in members}
    checks = context.settings.checks
    report = measure_document_text(documents.values(), context.common_text, checks)
    return evaluate_document_text(report, checks)


class ChunksStep(EachAlone):
    """Cuts documents into leaves."""

    key = keys.CHUNKS

    def make(self, state: PartitionState) -> StepResult:
        """See ``EachAlone.make``."""
        context = state.context
        documents = state.documents()
        embedder = context.components.embedder.fingerprint  # leaves carry the keys of its vectors
        documents_digest = documents_version(documents, context.components.curation)
        inputs = inputs_digest(context, self.key, documents_digest, embedder)
        version = state.recorded_version(self.key, inputs)
        reused = version is not None
        if version is None:
            leaves = self._leaves(state)
            version = nodes_version(leaves)
            state.put_nodes(0, leaves)
            state.save(self.key, nodes_to_table(leaves), version, inputs)
        nodes = state.nodes(0)
        without = sorted(set(documents) - nodes.keys())
        metadata = {**nodes_metadata(nodes), "n_trees_without_text": len(without)}
        verdicts = self.check(state)
        return StepResult(state, version, metadata, metadata["n_nodes"], reused, verdicts)

    def check(self, state: PartitionState) -> list[Verdict]:
        """See ``CheckedStep.check``."""
        texts = {
            (tree, document.id): document.text
            for tree, members in state.documents().items()
            for document in members
        }
        leaves = state.flat_nodes(0)
        return [chunk_length(CheckedChunks(leaves, texts, state.context.settings))]

    def _leaves(self, state: PartitionState) -> list[Node]:
        documents = state.documents()
        leaves: list[Node] = []
        for tree, members in documents.items():
            made = make_leaves(tree, members, state.context.components)
            leaves += made
            if not made:
                state.context.warn(f"tree {tree!r} has no text and is not built")
        if not leaves:
            raise EmptySourceError(
                f"none of the {sum(map(len, documents.values()))} documents of partition "
                f"{state.name!r} holds text; a tree needs at least one word"
            )
        return leaves
