"""Tests that docs/reliability.md and SECURITY.md name."""

import re

import pytest
from support.fenced import ROOT

NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(test_\w+))?`")


@pytest.mark.parametrize(("page", "least"), [("docs/reliability.md", 25), ("SECURITY.md", 10)])
def test_every_test_that_a_page_names_is_there(page, least):
    named = NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) >= least
    for file, test in named:
        assert (ROOT / file).exists(), file
        assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test
