"""Only a failed check of severity "error" stops a publication."""

import pytest

from raptor_core.checks.base import CheckResult, blocking_failures, require
from raptor_core.errors import InvariantError

RESULTS = [
    CheckResult(f"{severity} {passed}", passed, severity, "Seen.", {}, remedy="Mend it.")
    for severity in ("error", "warn")
    for passed in (True, False)
]


def test_a_failed_error_blocks_and_nothing_else_does():
    assert [result.name for result in blocking_failures(RESULTS)] == ["error False"]


def test_a_build_ends_at_a_blocking_failure_with_its_remedy():
    with pytest.raises(InvariantError, match=r"Seen.*Mend it"):
        require(RESULTS)
    require([result for result in RESULTS if result.name != "error False"])
