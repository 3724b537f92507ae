"""Settings: presets, the file, the environment, endpoints, and what is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from raptor_assets.home.settings_file import to_settings_text
from raptor_core.errors import SettingsError
from raptor_core.settings import Settings, load_settings, preset
from raptor_core.settings.stores import StoreSettings
from raptor_core.tree.publish import build_settings_fingerprint, content_settings


def write(tmp_path, text):
    path = tmp_path / "raptor.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_paper_preset_has_the_papers_figures():
    paper = preset("paper")
    assert (paper.chunking.method, paper.chunking.max_tokens) == ("greedy", 100)
    assert (paper.tokens.counter, paper.tokens.encoding) == ("tiktoken", "cl100k_base")
    assert (paper.clustering.method, paper.clustering.patience) == ("reference", 0)
    assert paper.clustering.threshold == 0.1
    assert paper.clustering.max_tokens == 3500
    assert paper.tree.top_nodes == 11
    assert (paper.retrieval.budget_tokens, paper.retrieval.top_k) == (2000, 20)


def test_a_file_overrides_its_preset_and_the_environment_overrides_the_file(tmp_path):
    path = write(tmp_path, 'preset = "paper"\n[chunking]\nmax_tokens = 80\n')
    settings = load_settings(path, {"RAPTOR_CLUSTERING__THRESHOLD": "0.25"})
    assert settings.chunking.max_tokens == 80
    assert settings.chunking.max_context_tokens == 0
    assert settings.clustering.threshold == 0.25


def test_a_list_in_the_environment_is_comma_separated():
    settings = load_settings(None, {"RAPTOR_SOURCE__PATHS": "docs, papers.jsonl"})
    assert settings.source.paths == ("docs", "papers.jsonl")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[chunking]\nmax_token = 80\n", ["chunking.max_token", "did you mean max_tokens"]),
        ("[chunking]\nmax_tokens = -3\n", ["chunking.max_tokens", "-3"]),
        ('[grouping]\nby = "chapter"\n', ["grouping.by", "chapter", "document"]),
        ("[clustering]\nmax_tokens = 100\n", ["clustering.max_tokens", "two nodes"]),
        ('[store]\nkind = "server"\n', ["store.url"]),
        ('[prices."m"]\ninput = 1\noutpt = 1\n', ["prices.m.outpt", "did you mean output"]),
        ("[budget]\ncalls = -1\n", ["budget.calls", "-1"]),
        (
            '[summarizer]\nkind = "openai"\n[budget]\nusd = 1\n',
            ["budget.usd", '[prices."gpt-4o-mini"]'],
        ),
        ("[checks]\nmin_compression = 0.9\n", ["min_compression must be below"]),
        ('[checks.severity]\nstaleness = "info"\n', ["checks.severity.staleness", "'warn'"]),
        ('[checks.severity]\nstale = "off"\n', ["checks.severity.stale", "'staleness'"]),
        ('preset = "papper"\n', ["papper", "paper"]),
        ("[chunking\n", ["not valid TOML"]),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_value(tmp_path, text, words):
    with pytest.raises(SettingsError) as caught:
        load_settings(write(tmp_path, text), {})
    for word in words:
        assert word in str(caught.value)


def test_a_variable_that_names_no_setting_is_refused():
    for name in ("RAPTOR_MAX_TOKENS", "RAPTOR_GRPC_PORT"):
        with pytest.raises(SettingsError, match=f"{name} does not name a setting"):
            load_settings(None, {name: "3"})


def test_services_on_kubernetes_may_be_called_raptor():
    given = {
        "RAPTOR_SERVICE_HOST": "10.0.0.7",
        "RAPTOR_SERVICE_PORT": "4000",
        "RAPTOR_SERVICE_PORT_GRPC": "4000",
        "RAPTOR_PORT": "tcp://10.0.0.7:4000",
        "RAPTOR_PORT_4000_TCP": "tcp://10.0.0.7:4000",
        "RAPTOR_PORT_4000_TCP_ADDR": "10.0.0.7",
        "RAPTOR_API_SERVICE_HOST": "10.0.0.8",
        "RAPTOR_API_PORT_80_TCP_PROTO": "tcp",
        "RAPTOR_STORE__TIMEOUT_SECONDS": "7",
    }
    assert load_settings(None, given) == load_settings(None, {"RAPTOR_STORE__TIMEOUT_SECONDS": "7"})
    assert load_settings(None, given).store.timeout_seconds == 7


@pytest.mark.parametrize("url", ["https://ada:secret@host:6333/v", "ada:secret@host", "x,ada@host"])
def test_a_store_s_url_holds_no_credentials_and_none_is_shown(url):
    with pytest.raises(
        SettingsError, match=r"store\.url contains a user .*QDRANT_API_KEY"
    ) as refused:
        load_settings(None, {"RAPTOR_STORE__URL": url})
    assert "secret" not in str(refused.value)
    assert StoreSettings(url="http://host:6333/a@b").url
    with pytest.raises(SettingsError, match="host/x") as wrong:
        load_settings(None, {"RAPTOR_SOURCE__MAX_FILE_MB": "ftp://ada:secret@host/x"})
    assert "secret" not in str(wrong.value)


def test_the_build_fingerprint_ignores_what_does_not_change_the_tree():
    base = build_settings_fingerprint(Settings(), {})
    faster = load_settings(None, {"RAPTOR_EMBEDDER__BATCH_SIZE": "7"})
    other = load_settings(None, {"RAPTOR_CLUSTERING__SEED": "7"})
    assert build_settings_fingerprint(faster, {}) == base
    assert build_settings_fingerprint(other, {}) != base


def test_dollars_need_a_price_of_every_endpoints_model_and_of_no_local_one(tmp_path):
    text = (
        '[summarizer]\nkind = "openai"\nmodel = "a"\n'
        '[embedder]\nkind = "openai"\nmodel = "b"\n[prices.a]\ninput = 1\n'
    )
    assert load_settings(write(tmp_path, text), {}).unpriced_models == ("b",)
    with pytest.raises(SettingsError, match=r'\[prices\."b"\]'):
        load_settings(write(tmp_path, text + "[budget]\nusd = 1\n"), {})
    assert load_settings(write(tmp_path, "[budget]\nusd = 1\n"), {}).unpriced_models == ()


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("chunking", "[chunking]\nmax_tokens = 1000"),
        ("summarizer", "[summarizer]\nmax_tokens = 300"),
        ("", '[chunking]\nmax_tokens = 1000\n[embedder]\nkind = "openai"'),
        ("", "[chunking]\nmax_tokens = 200"),
    ],
)
def test_a_max_tokens_above_the_embedders_limit_causes_a_warning(tmp_path, caplog, section, name):
    path = tmp_path / "raptor.toml"
    path.write_text(name)
    load_settings(path)
    assert (f"{section}.max_tokens allows texts of" in caplog.text) is bool(section)


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


def test_another_model_does_change_the_tree():
    other = Settings.model_validate({"summarizer": {"model": "other"}})
    assert build_settings_fingerprint(other, {}) != build_settings_fingerprint(Settings(), {})


@pytest.mark.parametrize(
    ("documents", "pages", "link"),
    [
        (["a b/ä.md"], (), "https://wiki/a%20b/%C3%A4.md#page=1"),
        (['x?y#z&"<.pdf'], (12, 13), "https://wiki/x%3Fy%23z%26%22%3C.pdf#page=12"),
        (["{page}.md"], (2, 2), "https://wiki/%7Bpage%7D.md#page=2"),
        (["../../admin"], (), ""),
        (["a/../../b"], (), ""),
        (["a.md", "b.md"], (), ""),
        ([], (), ""),
    ],
)
def test_a_document_has_the_address_of_its_id_and_page(documents, pages, link):
    source = Settings.model_validate({"source": {"link": "https://wiki/{id}#page={page}"}}).source
    assert source.document_link(documents, pages) == link
    assert Settings().source.document_link(documents, pages) == ""


@pytest.mark.parametrize("link", ["wiki/{id}", "javascript:{id}", "https://wiki/{id}{node}"])
def test_a_link_that_is_no_address_is_refused(link):
    with pytest.raises(ValueError, match="link"):
        Settings.model_validate({"source": {"link": link}})


TEXT = to_settings_text(sources=["docs"], preset="default", group_by="document").encode()
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
