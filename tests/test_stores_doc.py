"""docs/stores.md names every setting of the store with its default."""

import re
from pathlib import Path

import pytest

from raptor_core.settings import StoreSettings

TEXT = (Path(__file__).parent.parent / "docs" / "stores.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \|(.*?)\|", TEXT, re.MULTILINE))


@pytest.mark.parametrize("name", StoreSettings.model_fields)
def test_every_setting_of_the_store_is_told(name):
    assert f"`{name}`" in TEXT or f"`store.{name}`" in TEXT


@pytest.mark.parametrize("name", sorted(ROWS.keys() & StoreSettings.model_fields.keys()))
def test_defaults_are_those_of_the_settings(name):
    default = StoreSettings.model_fields[name].default
    told = ROWS[name].strip("` ")
    if isinstance(default, bool):
        assert told == str(default).lower()
    elif isinstance(default, int | float):
        assert not told or float(told) == default
    else:
        assert told == default
