import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.store.lexical import passage_vector, query_vector, tokens


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
    assert tokens("ตะเกียง") == ["ตะเกี", "เกีย", "ยง"]
    assert tokens("ເມືອງ") == ["ເມືອ", "ອງ"]
    assert tokens("ភ្លើង") == ["ភ្លើង"]
    assert tokens("သဒ္ဒါ") == ["သဒ္ဒါ"]


def test_a_pair_of_letters_counts_half_in_the_length_of_a_text():
    def weight(text):
        vector = passage_vector(text)
        return dict(zip(vector.indices, vector.values, strict=True))[query_vector("cat").indices[0]]

    assert weight("cat " + "灯" * 81) == pytest.approx(weight("cat" + " x" * 40))
