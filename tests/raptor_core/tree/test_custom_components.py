"""Custom components: passed to Components, or named in the settings."""

import sys

import pytest

from raptor_core import Components, Document, Settings, build_tree
from raptor_core.errors import SettingsError, SummaryError
from raptor_core.tree.custom_components import custom_fingerprints
from raptor_core.tree.publish import build_settings_fingerprint, content_settings

MODULE = """
from raptor_core import Chunk, Clusters, Summary
from raptor_core.models.reading import Answer
from raptor_core.tokens import WordCounter


class Part:
    def __init__(self, settings):
        self.fingerprint = f"{type(self).__name__}-{settings.summarizer.max_tokens}"


class Lines(Part):
    def chunk(self, document):
        found, start = [], 0
        for line in document.text.splitlines(keepends=True):
            text = line.strip()
            n_tokens = WordCounter().count([text])[0]
            found.append(Chunk(text, start, start + len(text), n_tokens))
            start += len(line)
        return found


class Shouting(Part):
    def summarize(self, requests):
        for request in requests:
            yield Summary(request.key, " ".join(request.texts).upper())


def first_words(settings):
    return lambda texts: " ".join(text.split()[0] for text in texts)


class All(Part):
    anchorable = False

    def cluster(self, vectors, n_tokens):
        return Clusters((tuple(range(len(vectors))),) if len(vectors) > 1 else ())


def broken(settings):
    raise RuntimeError("no licence")


class FirstSentence(Part):
    def read(self, question, passages):
        return Answer(f"{passages[0].text} [1]", (passages[0],))
"""

LOG = Document("log.md", "Lit in 1872.\nDark in 1953.\nLit again in 1990.")


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Settings whose parts are of a module in a folder that Python knows."""
    (tmp_path / "our_parts.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)

    def settings(**parts):
        reason = {kind: f"our_parts:{name}" for kind, name in parts.items()}
        return Settings(components=reason, tokens={"counter": "words"})

    yield settings
    sys.modules.pop("our_parts", None)


def test_parts_that_the_settings_name_build_the_tree(named):
    tree = build_tree([LOG], named(chunker="Lines", summarizer="Shouting", clusterer="All"))
    assert [node.text for node in tree.layers[0].nodes] == LOG.text.splitlines()
    assert [node.n_tokens for node in tree.layers[0].nodes] == [3, 3, 4]
    assert tree.layers[1].nodes[0].text == "LIT IN 1872. DARK IN 1953. LIT AGAIN IN 1990."


@pytest.mark.slow
def test_a_function_summarizes_by_name_and_as_it_is(named):
    by_name = build_tree([LOG], named(chunker="Lines", summarizer="first_words", clusterer="All"))
    assert by_name.layers[1].nodes[0].text == "Lit Dark Lit"
    components = Components(
        named(chunker="Lines", clusterer="All"), summarizer=lambda texts: f"{len(texts)} entries."
    )
    assert build_tree([LOG], components=components).layers[1].nodes[0].text == "3 entries."


@pytest.mark.parametrize(
    ("function", "reason"), [(lambda _: 1 / 0, "division by zero"), (lambda _: " ", "returned ' '")]
)
def test_what_a_function_raises_or_leaves_empty_becomes_no_node(named, function, reason):
    components = Components(named(chunker="Lines", clusterer="All"), summarizer=function)
    with pytest.raises(SummaryError, match=reason):
        build_tree([LOG], components=components)


def test_a_function_has_the_version_that_it_says_else_that_of_its_source(named):
    def summary(texts):
        return texts[0]

    def fingerprint():
        return Components(summarizer=summary).summarizer.fingerprint

    of_its_source = fingerprint()
    assert fingerprint() == of_its_source
    summary.version = 1
    first = fingerprint()
    summary.version = 2
    assert len({of_its_source, first, fingerprint()}) == 3


def test_settings_of_a_custom_component_hold_its_fingerprint(named):
    settings = named(summarizer="Shouting")
    custom = custom_fingerprints(settings)
    assert custom == {"summarizer": "Shouting-200"}
    assert content_settings(settings, "summarizer", custom)["own"] == "Shouting-200"
    assert "own" not in content_settings(settings, "chunking", custom)
    assert "own" not in content_settings(settings, "summarizer", {})
    expected = build_settings_fingerprint(settings, custom)
    assert Components(settings).settings_fingerprint == expected
    assert build_settings_fingerprint(settings, {}) != expected


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [
        ("chunker", "nowhere:Lines", "No module named 'nowhere'.*PYTHONPATH"),
        ("chunker", "our_parts:Curves", "our_parts.*Curves"),
        ("chunker", "our_parts:All", "All lacks chunk; see raptor_core.chunking.base.Chunker"),
        ("embedder", "our_parts:broken", "failed: RuntimeError: no licence"),
    ],
)
def test_a_wrong_component_is_reported_with_its_setting(named, kind, name, reason):
    settings = named().model_copy(
        update={"components": Settings(components={kind: name}).components}
    )
    with pytest.raises(SettingsError, match=f'components.{kind} = "{name}": .*{reason}'):
        build_tree([LOG], settings)
