"""``documents``: a snapshot of what the source holds for each partition."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.metadata import documents_metadata
from raptor_assets.partition_state import PartitionState, StepResult
from raptor_assets.run_context import RunContext, Trees
from raptor_assets.steps.base import recorded_version, save
from raptor_assets.versions import documents_version
from raptor_core.errors import SourceError
from raptor_core.quality.checks import Verdict
from raptor_core.quality.document_text import (
    CommonText,
    evaluate_document_text,
    measure_document_text,
)
from raptor_core.settings import CheckSettings
from raptor_core.tables import documents_to_table


class DocumentsStep:
    """Reads the source once and writes each partition's part of it."""

    key = keys.DOCUMENTS

    def run(self, context: RunContext, states: Sequence[PartitionState]) -> list[StepResult]:
        """See ``Step.run``."""
        results = []
        for state in states:
            trees = context.partitions.get(state.name)
            if not trees:
                state.fail(self.key, _gone(state.name))
                continue
            state.put_documents(trees)
            version = documents_version(trees, context.components.curation)
            reused = recorded_version(context, self.key, state, version) == version
            if not reused:
                save(context, self.key, state, documents_to_table(trees), version, version)
            n_rows = sum(len(found) for found in trees.values())
            metadata = documents_metadata(trees, context.corpus)
            verdicts = [_verdict(trees, context.common_text, context.settings.checks)]
            results.append(StepResult(state, version, metadata, n_rows, reused, verdicts))
        return results

    def check(self, context: RunContext, state: PartitionState) -> list[Verdict]:
        """See ``CheckedStep.check``."""
        return [_verdict(state.documents(context), context.common_text, context.settings.checks)]


def _verdict(trees: Trees, common: CommonText, checks: CheckSettings) -> Verdict:
    documents = {d.id: d for found in trees.values() for d in found}
    report = measure_document_text(documents.values(), common, checks)
    return evaluate_document_text(report, checks)


def _gone(partition: str) -> SourceError:
    return SourceError(
        f"the source holds no document of partition {partition!r}; it was removed or regrouped. "
        "Run the job drop_partitions for it (the sensor and `raptor build` do so themselves)"
    )
