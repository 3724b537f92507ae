from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples
from support.stores import IDENTITY, make_tree, open_at, publish_together, vectors_of

from raptor_core.store.lexical import passage_vector, query_vector, words_cut_to_stems


def score(question, text):
    found, sought = passage_vector(text), query_vector(question)
    weights = dict(zip(found.indices, found.values, strict=True))
    pairs = zip(sought.indices, sought.values, strict=True)
    return sum(weights.get(index, 0) * count for index, count in pairs)


FILLER = " stands on page nine"


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("서버를", "서버가"),
        ("물을", "물"),
        ("cafe\u0301", "café"),
        ("Đà Nẵng", "da nang"),
        ("ISPARTA", "ısparta"),
        ("İzmir", "izmir"),
        ("Straße", "STRASSE"),
        ("αθήνα", "ΑΘΗΝΑ"),
        ("ёлка", "елка"),
        ("كِتَابٌ", "كتاب"),
        ("کتاب", "كتاب"),
        ("می\u200cخواهم", "میخواهم"),
        ("שָׁלוֹם", "שלום"),
        ("क़लम", "कलम"),
        ("ＡＢ１２", "ab12"),
        ("co\u00adoperate", "cooperate"),
        ("E-1047", "E1047"),
        ("12,400", "12400"),
        ("12\u202f400", "12400"),
        ("12'400", "12 400"),
        ("1.234.567,89", "1,234,567.89"),
        ("0,75", "0.75"),
        ("maxTokens", "max_tokens"),
        ("HTTPServer", "httpserver"),
        ("e-mail", "email"),
    ],
)
def test_a_word_is_found_however_it_is_written(written, asked):
    assert score(asked, written + FILLER) > 0
    assert score(written, asked + FILLER) > 0


@pytest.mark.parametrize(
    ("asked", "exact", "near"),
    [
        ("ConnectionPool", "ConnectionPool", "ConnectionPooling connections"),
        ("calibrator", "calibrator", "calibration calibrated"),
        ("1.10.2", "1.10.2", "10.1 and 2"),
        ("C++", "C++", "C"),
        ("C#", "C#", "C++"),
        ("E-1047", "E1047", "E 9"),
    ],
)
def test_the_exact_form_scores_above_one_that_shares_a_part(asked, exact, near):
    assert score(asked, exact + FILLER) > score(asked, near + FILLER)


def test_both_terms_of_a_long_word_weigh_together_one_and_a_half_short_words():
    def weights(question):
        return sorted(query_vector(question).values)

    assert weights("cat") == [1]
    assert weights("connection") == [0.75, 0.75]
    assert weights("cat cat connection E-1047") == [0.75, 0.75, 1, 1, 1, 2]


@pytest.mark.parametrize("run", ["aB", "1,", "a-", "1 234"])
def test_a_word_without_end_takes_linear_time(run):
    assert passage_vector(run * 50_000) is not None


def test_weights_saturate_and_shrink_with_length():
    once, thrice = (passage_vector(text + " x" * 10) for text in ("cat", "cat cat cat"))
    long = passage_vector("cat" + " x" * 500)
    cat = query_vector("cat").indices[0]
    weight = [dict(zip(v.indices, v.values, strict=True))[cat] for v in (once, thrice, long)]
    assert weight[0] < weight[1] < 3 * weight[0]
    assert weight[2] < weight[0]


@given(st.text(st.characters()))
def test_any_text_gives_ascending_32_bit_indices_and_positive_weights(text):
    vector = passage_vector(text)
    if vector is not None:
        assert list(vector.indices) == sorted(set(vector.indices))
        assert all(0 <= index < 2**32 for index in vector.indices)
        assert all(0 < value < 2.2 for value in vector.values)


def test_letters_of_thai_lao_khmer_and_burmese_keep_their_vowels_and_marks():
    assert words_cut_to_stems("ตะเกียง") == ["ตะเกี", "เกีย", "ยง"]
    assert words_cut_to_stems("ເມືອງ") == ["ເມືອ", "ອງ"]
    assert words_cut_to_stems("ភ្លើង") == ["ភ្លើង"]
    assert words_cut_to_stems("သဒ္ဒါ") == ["သဒ္ဒါ"]


def test_a_pair_of_letters_counts_half_in_the_length_of_a_text():
    def weight(text):
        vector = passage_vector(text)
        return dict(zip(vector.indices, vector.values, strict=True))[query_vector("cat").indices[0]]

    assert weight("cat " + "灯" * 81) == pytest.approx(weight("cat" + " x" * 40))


NUMBERS = count()
NAMES = ("one", "two", "three")
WORDS = ("river", "stone", "river stone", "light")

STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(WORDS), min_size=1),
        st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
    ),
    min_size=1,
    max_size=6,
)
"""Publications: the word of each tree that comes or changes, and trees that go."""


def answers(store):
    """Ids and scores of searches, by vector and by words."""
    vectors = vectors_of(make_tree("one", 4, "river"))
    found = store.search(vectors, 7) + store.search_text(["river leaf 3", "stone of two"], 99)
    return [{hit.node.id: hit.score for hit in hits} for hits in found]


@pytest.mark.slow
@examples(16, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_answers_are_those_of_a_new_store_on_every_engine(stand_in, tmp_path_factory, steps):
    corpus = f"c{next(NUMBERS)}"
    identity = replace(IDENTITY, corpus=corpus)
    at_server = {"identity": identity, "corpus": corpus, "url": stand_in.url}
    wanted: dict[str, str] = {}
    with (
        open_at(None, "server", **at_server) as server,
        open_at(tmp_path_factory.mktemp("edge"), "edge") as edge,
    ):
        for words, gone in steps:
            dropped = [name for name in gone if name not in words]
            trees = {name: make_tree(name, 9, word) for name, word in words.items()}
            publish_together(server, trees, dropped)
            publish_together(edge, trees, dropped)
            wanted = {n: w for n, w in (wanted | words).items() if n not in dropped}
        with open_at(None) as new:
            publish_together(new, {name: make_tree(name, 9, word) for name, word in wanted.items()})
            expected = [pytest.approx(found, rel=1e-4) for found in answers(new)]
        assert answers(server) == expected
        assert answers(edge) == expected
    with open_at(None, "server", **at_server | {"identity": None}) as reader:
        assert answers(reader) == expected


@pytest.mark.slow
def test_exact_searches_find_the_same_on_every_engine(stand_in, tmp_path):
    trees = {name: make_tree(name, 12) for name in ("one", "two")}
    vectors = vectors_of(trees["one"][:4])
    with (
        open_at(tmp_path, "edge") as edge,
        open_at(None, "server", url=stand_in.url) as server,
    ):
        found = []
        for store in (edge, server):
            publish_together(store, trees)
            found += [ids(store.search(vectors, 5, exact=exact)) for exact in (True, False)]
    assert found == [found[0]] * 4


def ids(searches):
    return [[hit.node.id for hit in hits] for hits in searches]
