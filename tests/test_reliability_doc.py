"""docs/reliability.md names tests that there are."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
TEXT = (TESTS.parent / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_is_in_the_file_that_is_named():
    files = {path.name: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    named = re.findall(r"`(test_\w+\.py)`(?:: ((?:`test_\w+`(?:, )?)+))?", TEXT)
    assert len(named) > 30
    for file, tests in named:
        for test in re.findall(r"\w+", tests):
            assert f"def {test}(" in files[file], (file, test)
        assert file in files
