"""Places behind fsspec URLs, and what each needs installed."""

from __future__ import annotations

from raptor_core.errors import MissingExtraError

_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}


def missing_extra(url: str, purpose: str) -> MissingExtraError | None:
    """The error for a place whose client is not installed, where an extra of ours brings it."""
    extra = _EXTRAS.get(url.partition("://")[0])
    return None if extra is None else MissingExtraError(extra, purpose)
