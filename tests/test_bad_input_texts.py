"""Awkward documents: each ends in a right tree, or in an error that says what to do."""

import random

import pytest
from support.clusterers import WINDOWS
from support.hashing import HashingEmbedder
from support.invariants import violations

from raptor_core import Components, Document, Settings, build_tree
from raptor_core.errors import EmptySourceError


def components(**parts):
    return Components(Settings.model_validate(parts), embedder=HashingEmbedder())


def build(text, max_tokens=100, **parts):
    document = Document("odd.md", text)
    tree = build_tree(
        [document], components=components(chunking={"max_tokens": max_tokens}, **parts)
    )
    assert violations(tree) == []
    for leaf in tree.layers[0].nodes:
        assert leaf.text == text[leaf.start : leaf.end]
        assert leaf.n_tokens <= max_tokens
    kept = sum(len("".join(leaf.text.split())) for leaf in tree.layers[0].nodes)
    assert kept == len("".join(text.split()))
    return tree


def words(n, seed=5):
    rng = random.Random(seed)
    vocabulary = [f"{'bcdfghklmnprst'[k % 14]}{'aeiou'[k % 5]}word{k % 97}" for k in range(400)]
    return " ".join(rng.choice(vocabulary) for _ in range(n))


@pytest.mark.parametrize("text", ["", " \n\t ", "\u00a0\u2003\n"])
def test_a_text_without_words_is_refused_by_name(text):
    with pytest.raises(EmptySourceError, match=r"'blank.md'.*at least one word"):
        build_tree([Document("blank.md", text)], components=components())


@pytest.mark.slow
def test_an_endless_sentence_is_cut_between_words():
    text = words(12_000)
    tree = build(text, components=WINDOWS)
    for leaf in tree.layers[0].nodes:
        assert leaf.start == 0 or text[leaf.start - 1].isspace()
    assert len(tree.layers[-1].nodes) < len(tree.layers[0].nodes)


def test_control_characters_never_reach_a_summary_as_junk():
    noise = "".join(map(chr, [*range(1, 9), 11, 12, *range(14, 32), 127, 0x85, 0x200B, 0x202E]))
    lines = [f"Gauge {n} reads {n * 3} cm.{noise[n % 30]}" for n in range(120)]
    tree = build("\n\n".join(lines))
    summaries = [node for layer in tree.layers[1:] for node in layer.nodes]
    assert summaries
    assert all("Gauge" in node.text for node in summaries)
