"""Problems with rights: rules that match no document, documents that nobody may read."""

from collections.abc import Iterable, Sequence

from raptor_assets.assets.names import count_phrase, join_first
from raptor_core.documents.reader_rules import ReaderRules
from raptor_core.settings import Settings
from raptor_core.store.base import Manifest

_NAMED = 10


def uses_rights(settings: Settings) -> bool:
    """Return whether the settings restrict who may read, or require that somebody does."""
    return bool(settings.source.readers) or settings.access.requires_caller


def describe_unmatched_rules(rules: Sequence[str]) -> list[str]:
    """Return a line for each pattern in the rules that matches no document."""
    return [
        f"the rule {rule} matches no document, so it grants and revokes nothing" for rule in rules
    ]


def find_rights_problems(manifests: Iterable[Manifest], settings: Settings) -> list[str]:
    """Return problems with the rights of published trees; nothing if there are none."""
    documents = [(manifest, d) for manifest in manifests for d in manifest.published_documents]
    if not uses_rights(settings) and not any(manifest.readers for manifest, _ in documents):
        return []
    names = [(document.id, document.source) for _, document in documents]
    findings = describe_unmatched_rules(ReaderRules(settings.source).describe_unmatched(names))
    if hidden := sorted(d.id for manifest, d in documents if not manifest.readers.get(d.id)):
        findings.append(
            f"{count_phrase(len(hidden), 'document')} that no caller may read, because no readers "
            f"are declared or they cannot be read now: {join_first(hidden, _NAMED)}"
        )
    return findings
