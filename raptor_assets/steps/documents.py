"""``documents``: a snapshot of what the source holds for each partition."""

from __future__ import annotations

from raptor_assets import keys
from raptor_assets.metadata import documents_metadata
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext, Trees
from raptor_assets.steps.base import EachAlone
from raptor_assets.versions import documents_version
from raptor_core.errors import SourceError
from raptor_core.quality.checks import Verdict
from raptor_core.quality.document_text import evaluate_document_text, measure_document_text
from raptor_core.tables.values import documents_to_table


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
