"""Precision "auto": the choice on this machine, and the precision of an existing store."""

import pytest

from raptor_core.models.embedding import local_models, make_embedder
from raptor_core.models.embedding.local_models import fast_precision, resolve_precision
from raptor_core.settings import EmbedderSettings
from raptor_core.tree.components import Components

FULL, HALF = EmbedderSettings(precision="float32"), EmbedderSettings(precision="bfloat16")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Makes this machine one whose processor has some flags."""

    def become(flags):
        (tmp_path / "cpuinfo").write_text(f"flags\t: fpu {flags} avx512_bf16\n")
        monkeypatch.setattr(local_models, "_CPU_FLAGS", tmp_path / "cpuinfo")
        monkeypatch.setattr(local_models, "_NVIDIA_DRIVER", tmp_path / "none")
        fast_precision.cache_clear()

    yield become
    fast_precision.cache_clear()


@pytest.mark.parametrize(("flags", "wanted"), [("", "float32"), ("amx_bf16", "bfloat16")])
def test_a_new_store_gets_what_the_machine_is_fast_at(machine, flags, wanted):
    machine(flags)
    assert resolve_precision(EmbedderSettings()).precision == wanted
    assert Components().settings.embedder.precision == wanted


@pytest.mark.parametrize("flags", ["", "amx_bf16"])
@pytest.mark.parametrize("made_with", [FULL, HALF])
def test_a_store_goes_on_with_what_it_was_made_with(machine, flags, made_with):
    machine(flags)
    stored = make_embedder(made_with).fingerprint
    assert resolve_precision(EmbedderSettings(), stored) == made_with


def test_a_precision_that_is_set_stays(machine):
    machine("amx_bf16")
    assert resolve_precision(FULL, make_embedder(HALF).fingerprint) == FULL


def test_float32_is_what_was_built_before_there_was_a_choice():
    assert make_embedder(FULL).fingerprint == "6b09ef5d72e1217417b682acc10b1312"
    before = EmbedderSettings(kind="sentence-transformers", precision="float32")
    assert make_embedder(before).fingerprint == "f3cda2d849ad8361e8f6358e32a51bce"
