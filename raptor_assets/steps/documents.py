"""``documents``: a snapshot of what the source holds for each partition."""

from __future__ import annotations

from collections.abc import Sequence

from raptor_assets import keys
from raptor_assets.bench import Bench, Trees
from raptor_assets.metadata import documents_metadata
from raptor_assets.steps.base import recorded_version, save
from raptor_assets.versions import documents_version
from raptor_assets.work import Outcome, Work
from raptor_core.errors import SourceError
from raptor_core.quality.common_text import CommonText
from raptor_core.quality.document_text import evaluate_document_text, measure_document_text
from raptor_core.quality.verdicts import Verdict
from raptor_core.settings import CheckSettings
from raptor_core.tables import documents_to_table


class DocumentsStep:
    """Reads the source once and writes each partition's part of it."""

    key = keys.DOCUMENTS

    def run(self, bench: Bench, works: Sequence[Work]) -> list[Outcome]:
        """See ``Step.run``."""
        outcomes = []
        for work in works:
            trees = bench.partitions.get(work.name)
            if not trees:
                work.fail(self.key, _gone(work.name))
                continue
            work.put_documents(trees)
            version = documents_version(trees)
            reused = recorded_version(bench, self.key, work, version) == version
            if not reused:
                save(bench, self.key, work, documents_to_table(trees), version, version)
            n_rows = sum(len(found) for found in trees.values())
            metadata = documents_metadata(trees, bench.corpus)
            verdicts = [_verdict(trees, bench.common_text, bench.settings.checks)]
            outcomes.append(Outcome(work, version, metadata, n_rows, reused, verdicts))
        return outcomes


def _verdict(trees: Trees, common: CommonText, checks: CheckSettings) -> Verdict:
    documents = {d.id: d for found in trees.values() for d in found}
    report = measure_document_text(documents.values(), common, checks)
    return evaluate_document_text(report, checks)


def _gone(partition: str) -> SourceError:
    return SourceError(
        f"the source holds no document of partition {partition!r}; it was removed or regrouped. "
        "Run the job drop_partitions for it (the sensor and `raptor build` do so themselves)"
    )
