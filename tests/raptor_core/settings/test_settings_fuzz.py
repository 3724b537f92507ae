"""Whatever stands in a settings file, it gives settings or an error that says where."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from raptor_assets.home.settings_file import settings_text
from raptor_core.errors import SettingsError
from raptor_core.settings import Settings, load_settings

TEXT = settings_text(sources=["docs"], preset="default", group_by="document").encode()
NAMES = [
    f"{part}.{name}"
    for part, field in Settings.model_fields.items()
    for name in getattr(field.annotation, "model_fields", {})
]
VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


def toml(value):
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        escaped = "".join(c if c.isalnum() else f"\\U{ord(c):08X}" for c in value)
        return f'"{escaped}"'
    return repr(value)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("settings") / "raptor.toml"


@examples(80)
@given(st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=6)), min_size=1, max_size=4))
def test_a_file_of_changed_bytes(path, changes):
    data = bytearray(TEXT)
    for place, piece in changes:
        at = int(place * len(data))
        data[at : at + len(piece)] = piece
    path.write_bytes(data)
    with suppress(SettingsError):
        assert isinstance(load_settings(path), Settings)


@examples(150)
@given(name=st.sampled_from(NAMES), value=VALUES)
def test_any_value_of_any_setting(path, name, value):
    part, _, key = name.partition(".")
    path.write_text(f"[{part}]\n{key} = {toml(value)}\n", encoding="utf-8")
    with suppress(SettingsError):
        assert isinstance(load_settings(path), Settings)
