"""Steps from documents to clusters; ``summaries`` makes layers of them."""

from collections.abc import Sequence
from contextlib import suppress

from raptor_assets.assets.versions import clusters_version, documents_version, nodes_version
from raptor_assets.chain.context import QUICK_NODES, RunContext, StoredVectorsAndTexts, Trees
from raptor_assets.chain.state import PartitionState, StepResult
from raptor_assets.chain.steps.base import Step, inputs_digest
from raptor_assets.shown.metadata import (
    clusters_metadata,
    documents_metadata,
    embeddings_metadata,
    nodes_metadata,
)
from raptor_core.checks.base import CheckedClusters, CheckResult
from raptor_core.checks.document_text import document_text
from raptor_core.checks.registry import CLUSTER_CHECKS
from raptor_core.checks.sizes import chunk_length
from raptor_core.checks.stored import check_equal_vectors
from raptor_core.documents.base import Document
from raptor_core.errors import EmptySourceError, SourceError, TableError
from raptor_core.nodes import Node
from raptor_core.tables.values import clusterings_to_table, documents_to_table, nodes_to_table
from raptor_core.tree.earlier import earlier_clusters
from raptor_core.tree.embed import embed_nodes
from raptor_core.tree.leaves import make_leaves


class DocumentsStep(Step):
    """Step that reads the source once and writes each partition's documents."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``; the trees count as unfinished before a table has their texts."""
        trees = (tree for state in states for tree in context.partitions.get(state.name, {}))
        context.components.cache.record_needed_keys((tree, "") for tree in trees)
        return super().run(context, states)

    def make_asset(self, state: PartitionState) -> StepResult:
        """See ``Step.make_asset``."""
        context = state.context
        trees = context.partitions.get(state.name, {})
        ids = {document.id for members in trees.values() for document in members}
        context.require_readable(state.name, ids)
        if not trees:
            context.require_not_pinned(state.name)
            raise SourceError(
                f"the source holds no document of partition {state.name!r}; it was removed or "
                "regrouped. Run the job drop_partitions for it (the sensor and `raptor build` do "
                "so themselves)"
            )
        state.documents = trees
        version = documents_version(trees, context.components.curation)
        reused = state.find_reusable_version(self.asset, version) == version
        if not reused:
            state.save_table(self.asset, documents_to_table(trees), version, version)
        n_rows = sum(len(members) for members in trees.values())
        metadata = documents_metadata(trees, context.corpus, context.settings.source.shown_paths())
        return StepResult(state, version, metadata, n_rows, reused, self.check_recorded(state))

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``."""
        return [_check_documents(state.documents, state.context)]


def _check_documents(trees: Trees, context: RunContext) -> CheckResult:
    documents = {d.id: d for members in trees.values() for d in members}
    return document_text(
        documents.values(), context.settings.checks, context.components.unknown_share
    )


class ChunksStep(Step):
    """Step that cuts documents into leaves."""

    def make_asset(self, state: PartitionState) -> StepResult:
        """See ``Step.make_asset``."""
        context = state.context
        documents = state.documents
        embedder = context.components.embedder.fingerprint  # leaves carry the keys of its vectors
        documents_digest = documents_version(documents, context.components.curation)
        inputs = inputs_digest(context, self.asset, documents_digest, embedder)
        version = state.find_reusable_version(self.asset, inputs)
        reused = version is not None
        if version is None:
            leaves = self._make_leaves(state)
            version = nodes_version(leaves)
            state.put_nodes(0, leaves)
            state.save_table(self.asset, nodes_to_table(leaves), version, inputs)
        nodes = state.nodes(0)
        without = sorted(set(documents) - nodes.keys())
        metadata = {**nodes_metadata(nodes), "n_trees_without_text": len(without)}
        verdicts = self.check_recorded(state)
        return StepResult(state, version, metadata, metadata["n_nodes"], reused, verdicts)

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``."""
        return [chunk_length(state.flat_nodes(0), state.context.settings)]

    def _make_leaves(self, state: PartitionState) -> list[Node]:
        documents = state.documents
        leaves: list[Node] = []
        for tree, members in documents.items():
            of_tree = make_leaves(tree, members, state.context.components)
            leaves += of_tree
            if not of_tree:
                state.context.warn(f"tree {tree!r} has no text and is not built")
        if not leaves:
            raise EmptySourceError(
                f"none of the {sum(map(len, documents.values()))} documents of partition "
                f"{state.name!r} holds text; a tree needs at least one word"
            )
        return leaves


class ClustersStep(Step):
    """Step that clusters every tree that has the layer below."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        if self.layer == 1:  # one look-up for all trees, since each look-up opens the store
            trees: dict[str, Sequence[Document]] = {}
            for state in states:
                with suppress(TableError):  # ``make_asset`` raises it again for this partition
                    trees |= state.documents
            context.look_up_published(trees)
        return super().run(context, states)

    def make_asset(self, state: PartitionState) -> StepResult:
        """See ``Step.make_asset``."""
        if self.layer == 1:
            state.plan_rebuild()
        inputs = inputs_digest(state.context, self.asset, *self._list_inputs(state))
        record = state.read_record(self.asset)
        version = record.data_version if record else ""
        if not record or record.inputs != inputs:
            done = {
                tree: state.cluster_tree(self.layer, tree) for tree in state.nodes(self.layer - 1)
            }
            state.put_clusterings(self.layer, done)
            version = clusters_version(list(done.values()))
            state.save_table(self.asset, clusterings_to_table(done.values()), version, inputs)
        reused = record is not None and record.data_version == version
        clusterings = list(state.clusterings(self.layer).values())
        below = {} if reused else state.layers(self.layer - 1)
        metadata = clusters_metadata(clusterings, below, pictured=not reused)
        verdicts = self.check_recorded(state)
        return StepResult(state, version, metadata, metadata["n_clusters"], reused, verdicts)

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``."""
        below = state.nodes_by_id(self.layer - 1)
        clusters = [
            [below[node_id] for node_id in group]
            for clustering in state.clusterings(self.layer).values()
            for group in clustering.groups
        ]
        checked = CheckedClusters(clusters, state.context.settings)
        return [check(checked) for check in CLUSTER_CHECKS]

    def _list_inputs(self, state: PartitionState) -> list[str]:
        """Return what the clusters depend on: vectors, token counts, order, published clusters."""
        lines = [
            f"{tree}\0{node.id}\0{node.embedding_key}\0{node.n_tokens}"
            for tree, nodes in state.nodes(self.layer - 1).items()
            for node in nodes
        ]
        for tree, published in state.earlier_trees().items():
            earlier = earlier_clusters(published, self.layer - 1)
            lines.append(f"{tree}\0{earlier.digest if earlier else ''}")
        return lines


class EmbeddingsStep(Step):
    """Step that embeds and stages the nodes of all partitions together, reusing known vectors."""

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        flat = [state.flat_nodes(self.layer) for state in states]
        nodes = [node for members in flat for node in members]
        known_store = StoredVectorsAndTexts(context.store)
        embedded = embed_nodes(nodes, context.components, known_store, context.working)
        embedding_keys = (node.embedding_key for node in nodes)
        vectors = dict(zip(embedding_keys, embedded.vectors, strict=True))
        if not self.layer and context.needs_no_endpoint and len(nodes) <= QUICK_NODES:
            context.store.keep_open()  # the layers above are quick too, and have fewer nodes
        below = [n for state in states for k in range(self.layer) for n in state.flat_nodes(k)]
        with context.store.open() as store:
            store.stage(nodes, below, vectors)
        fresh = [
            {node.embedding_key for node in members} - embedded.reused_keys for members in flat
        ]
        n_computed = list(map(len, fresh))
        shares = embedded.usage.divide_by_weights(n_computed)
        results = []
        for state, members, count, share in zip(states, flat, n_computed, shares, strict=True):
            state.put_vectors(self.layer, vectors)
            state.costs.add_embeddings(count, share)
            version = nodes_version(members)
            metadata = embeddings_metadata(members, embedded.reused_keys, context.components, share)
            verdicts, reused = self.check_recorded(state), not count
            results.append(StepResult(state, version, metadata, len(members), reused, verdicts))
        return results

    def _run_checks(self, state: PartitionState) -> list[CheckResult]:
        """See ``Step._run_checks``."""
        vectors = {
            node.embedding_key: vector
            for layer in state.layers(self.layer).values()
            for node, vector in zip(layer.nodes, layer.vectors, strict=True)
        }
        return [check_equal_vectors(state.flat_nodes(self.layer), vectors)]
