"""Sentence boundaries in several languages, lists, code and tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raptor_core.chunking.sentences import find_sentence_spans
from raptor_formats.blocks import is_horizontal_rule

CASES = {
    "titles": ["Dr. Smith met Mrs. Jones.", "They left."],
    "decimals": ["Pi is 3.14 or so.", "It grew by 2.5 % in 1999.", "Then it fell."],
    "times": ["He left at 5 p.m. on Monday.", "She stayed."],
    "numbers": ["Was it No. 5?", "See Fig. 3 and pp. 4 to 9.", "Yes!"],
    "the word no": ["He said no.", "Then he left."],
    "initials": ["I met J. R. R. Tolkien.", "He smiled."],
    "letter at the end": ["It holds vitamin C.", "The rest is sugar."],
    "acronym inside": ["The U.S. Army came."],
    "acronym at the end": ["We live in the U.S.", "The end."],
    "etc at the end": ["Bring pens, paper, etc.", "We start at nine."],
    "quotation goes on": ['"What?" he said.', '"No way," she said.', "“Go!”", "He went."],
    "ellipsis": ["Wait... what was that?", "Well...", "Nothing."],
    "addresses": ["Visit https://a.org/x.html?q=1.", "Then mail me@b.org now."],
    "references": ["See Smith et al. 2017 for more.", "It is long."],
    "brackets": ["(He left.)", "Then it rained."],
    "german": ["Am 3. Oktober kam er, z. B. mit Anna, usw. und so fort.", "Dann ging er."],
    "french": ["M. Dupont est parti.", "Où est Mme. Curie ?", "Ici."],
    "spanish": ["¿Qué pasa, Sr. López?", "¡Nada!"],
    "russian": ["Он жил на ул. Ленина.", "Потом уехал."],
    "chinese": ["他来了。", "今天是3.14元！", "他说：“走吧！”", "好？"],
    "japanese": ["彼は「はい。」", "雨だ。"],
    "arabic": ["ما هذا؟", "هذا كتاب، نعم."],
    "hindi": ["यह एक किताब है।", "वह चला गया।"],
    "enumeration": ["1. First do this.", "Then that."],
}


def split(text):
    return [text[start:end] for start, end in find_sentence_spans(text)]


@pytest.mark.parametrize("name", CASES)
def test_sentences_of_one_paragraph(name):
    glue = "" if name in {"chinese", "japanese"} else " "
    assert split(glue.join(CASES[name])) == CASES[name]


def test_list_items_are_sentences_of_their_own():
    text = "Bring these:\n- an apple\n- a pear,\n  ripe\n2. bread"
    assert split(text) == ["Bring these:", "- an apple", "- a pear,\n  ripe", "2. bread"]


def test_wrapped_lines_are_one_sentence():
    assert split("It was a dark\nand stormy night.\nIt rained.") == [
        "It was a dark\nand stormy night.",
        "It rained.",
    ]


def test_indented_code_is_cut_at_lines_and_indented_prose_is_not():
    text = "    def f(x):\n        return x\n\n    It was late and\n    nobody came."
    assert split(text) == ["def f(x):", "return x", "It was late and\n    nobody came."]


def test_tables_are_cut_at_rows_and_rules_are_no_sentences():
    row = "| a | It burned oil. It went out. |"
    assert split(f"{row}\n|---|---|\n| 1 | 2 |") == [row, "| 1 | 2 |"]
    assert split("One.\n\n-----\n\nTwo.") == ["One.", "Two."]


BLOCKS = ["A b. ", "c? ", '"Q!" ', "\n", "\n\n", "\r\n", "# h\n", "- i\n", "```\n", "    x = 1;\n"]
MARKS = ["| t |\n", "===\n", "。", "他", "!", "...", "é", "e\u0301", "\x0c", "\u2028", "\x00", "  "]
PIECES = st.sampled_from([*BLOCKS, *MARKS])


@given(st.lists(PIECES | st.text(max_size=6), max_size=40).map("".join))
def test_sentences_cover_all_but_white_space_and_rules_in_order(text):
    at = 0
    for start, end in find_sentence_spans(text):
        assert at <= start < end
        assert is_horizontal_rule(text[at:start])
        assert text[start:end] == text[start:end].strip()
        at = end
    assert is_horizontal_rule(text[at:])


THAI = "ผู้ดูแลประภาคารจุดตะเกียงทุกเย็นเมื่อพระอาทิตย์ตกดิน"
LAO = "ຜູ້ດູແລປະພາຄານຈູດຕະກຽງທຸກແລງເມື່ອຕາເວັນຕົກດິນແລ້ວ"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{THAI} {THAI}", [THAI, THAI]),
        (f"{LAO} {LAO}", [LAO, LAO]),
        (f"ตะเกียง {THAI} 5 ดวง", [f"ตะเกียง {THAI} 5 ดวง"]),
        ("គាត់អុជចង្កៀង។គាត់សរសេរ៕", ["គាត់អុជចង្កៀង។", "គាត់សរសេរ៕"]),
        ("မီးထွန်းသည်။မှတ်သည်။", ["မီးထွန်းသည်။", "မှတ်သည်။"]),
        ("སྒྲོན་མེ་སྦར།ཡི་གེ་བྲིས།", ["སྒྲོན་མེ་སྦར།", "ཡི་གེ་བྲིས།"]),
    ],
)
def test_sentences_of_scripts_without_spaces_end_by_their_own_rules(text, expected):
    assert split(text) == expected
