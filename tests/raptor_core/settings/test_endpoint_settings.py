"""Settings of endpoints: the same in every part that calls one, and no reason to redo anything."""

import pytest

from raptor_core.settings import EndpointPart, Settings
from raptor_core.tree.publish import build_settings_fingerprint, content_settings

PARTS = ("embedder", "summarizer", "audit", "reader")
CHANGED = {
    "base_url": "http://elsewhere/v1",
    "api_key_env": "OTHER_KEY",
    "timeout_seconds": 7.0,
    "max_retries": 7,
    "concurrency": 77,
    "requests_per_minute": 500,
    "tokens_per_minute": 90_000,
}


def test_every_setting_of_an_endpoint_is_looked_at_here():
    assert set(CHANGED) | {"model"} == set(EndpointPart.model_fields)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_that_calls_an_endpoint_has_all_of_them(part):
    settings = getattr(Settings.model_validate({part: CHANGED}), part)
    assert {name: getattr(settings, name) for name in CHANGED} == CHANGED
    assert settings.purpose == part


@pytest.mark.parametrize("part", PARTS)
def test_how_an_endpoint_is_called_makes_nothing_stale(part):
    other = Settings.model_validate({part: CHANGED})
    assert build_settings_fingerprint(other, {}) == build_settings_fingerprint(Settings(), {})
    assert content_settings(other, part, {}) == content_settings(Settings(), part, {})


def test_so_it_is_with_batches():
    other = Settings.model_validate({"summarizer": {"batch_from": 9}})
    assert build_settings_fingerprint(other, {}) == build_settings_fingerprint(Settings(), {})


def test_another_model_does_change_the_tree():
    other = Settings.model_validate({"summarizer": {"model": "other"}})
    assert build_settings_fingerprint(other, {}) != build_settings_fingerprint(Settings(), {})
