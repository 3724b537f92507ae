"""Facts of a summary that no leaf holds, however numbers, dates and names are written."""

import pytest

from raptor_core.audit.facts import separate_foreign_facts
from raptor_core.models.embedding import make_embedder
from raptor_core.settings import EmbedderSettings

LEAVES = (
    (
        "On 2024-03-14 Engineer Oduya paid $1,234,567 for three T_V_ sets and pumps of the U.S., "
        "12.34 tons. Two hundred and five guests came from Germany between 1990–95."
    ),
    (
        "J. Lund of the World Health Organization cleaned it at 3:30 pm; 45 % of the silt, 1,180 "
        "bags, was left. Dr. Weiß asked for twenty-five more. See E-1047 and ops@pump.example."
    ),
)


@pytest.mark.parametrize(
    "claim",
    [
        "Oduya paid 1.234.567 dollars.",
        "Oduya paid 1 234 567 dollars in March 2024.",
        "The payment was made on 14.03.2024.",
        "It happened on 14 March 2024, in the 2020s and in the 21st century.",
        "The pumps weighed 12.3 tons, about 12 tons.",
        "There were 205 guests, nearly 200.",
        "In all 1,205 things came, about 1,200.",
        "A German guest came in 1995.",
        "Lund cleaned it at 15:30.",
        "The TV was in the US.",
        "The WHO left forty-five percent, or 0.45 of it.",
        "Of 1,180 bags 1,155 were left when 25 were gone.",
        "Doctor Weiss wanted 25 more.",
        "Mr. Lund and Mrs. Oduya met ten friends twice.",
        "E-1047 is explained at ops@pump.example.",
        "Hundreds of bags stood there. Unfortunately Oduya left. Cleaning took long.",
    ],
)
def test_what_a_leaf_says_in_other_signs_is_not_foreign(claim):
    assert separate_foreign_facts(claim, LEAVES) == ((), claim, 1.0)


@pytest.mark.parametrize(
    ("claim", "facts"),
    [
        ("The pump failed, and Oduya paid 1,234,576 dollars.", {"1,234,576"}),
        ("The payment was made on 2024-03-16.", {"2024-03-16"}),
        ("It happened on 14 April 2024.", {"April"}),
        ("The silt was 54 % of it.", {"54"}),
        ("It took fifty years.", {"fifty"}),
        ("It took $5.", {"5"}),
        ("It cost 1.2 million.", {"1.2"}),
        ("They met Hallström.", {"Hallström"}),
        ("Zarkov left.", {"Zarkov"}),
        ("Hallström left. They met Hallström.", {"Hallström"}),
        ("The CIA met Oduya.", {"CIA"}),
        ("See E-1074 or op@pump.example.", {"E-1074", "op@pump.example"}),
        ("Maria Lopez Visits Berlin.", {"Lopez", "Visits", "Berlin"}),
    ],
)
def test_what_no_leaf_says_is_named_and_its_sentences_go(claim, facts):
    found = separate_foreign_facts(f"Oduya paid. {claim} Lund cleaned it.", LEAVES)
    assert facts <= set(found.facts)
    assert found.remaining_text == "Oduya paid. Lund cleaned it."
    assert 0.3 < found.remaining_share < 1


@pytest.mark.parametrize(
    ("leaf", "known", "foreign"),
    [
        ("这家公司有三百二十五名员工。", "该公司有325名员工。", "该公司有352名员工。"),
        ("公司收入三万元，2024年3月5日成立。", "收入30000元，成立于3月。", "收入3亿元。"),
        ("Он встретил Ивана в Москве.", "Потом пришёл и Иван.", "Потом пришёл и Пётр."),
        ("Es waren dreiundzwanzig Gäste.", "Es kamen 23 Gäste.", "Es kamen 32 Gäste."),
        (("Der alte Bürgermeister Herr Müller sprach mit dem Rat der Stadt über den Bau einer "
         "Brücke."), "Dann sprach Herr Müller.", "Dann sprach Herr Schmidt."),
        ("Il y avait quatre-vingt-douze invités.", "Il y avait 92 invités.", "Il y en a 72."),
        ("عدد الضيوف ٢٥ شخصا.", "كان العدد 25.", "كان العدد 26."),
        ("Había treinta y cinco casas y 1.500 vacas.", "Eran 35 casas.", "Eran 53 casas."),
        ("Revenue was ₹5 crore.", "It was 50,000,000 rupees.", "It was 5 lakh rupees."),
    ],
)  # fmt: skip
def test_numbers_and_names_are_compared_in_other_languages_and_scripts(leaf, known, foreign):
    assert not separate_foreign_facts(known, [leaf]).facts
    assert separate_foreign_facts(foreign, [leaf]).facts


def test_a_long_run_of_digits_and_numerals_takes_no_time():
    for text in ("1" * 50_000, "1,22," * 10_000, "一百" * 10_000, "eine" * 10_000):
        separate_foreign_facts(f"It is {text}.", LEAVES)


@pytest.mark.slow
def test_sentences_that_resemble_no_sentence_of_the_leaves_are_left_out_by_an_embedder():
    leaf = (
        "The harbour pump failed in March because silt had blocked its intake. An engineer "
        "replaced the filter. Three hours later the pump was running again."
    )
    true = (
        "The pump of the harbour stopped because its intake was full of silt.",
        "The filter was replaced by an engineer.",
    )
    wrong = "A young woman walked home from work and saw a thief."
    text = f"A thief in the city\n\n{true[0]} {wrong} {true[1]} {wrong}"
    kept = f"A thief in the city\n\n{true[0]} {true[1]}"
    embed = make_embedder(EmbedderSettings()).embed
    assert separate_foreign_facts(text, [leaf]) == ((), text, 1.0)
    assert separate_foreign_facts(text, [leaf], embed) == ((), kept, len(kept) / len(text))
    assert (
        separate_foreign_facts(wrong, [leaf], embed).remaining_text
        == separate_foreign_facts("", [leaf], embed).remaining_text
        == ""
    )
    assert separate_foreign_facts(wrong, [" "], embed).remaining_text == ""
    both = separate_foreign_facts(f"{true[0]} It cost 4,000 dollars. {wrong}", [leaf], embed)
    assert both[:2] == (("4,000",), true[0])


@pytest.mark.slow
def test_the_most_similar_sentence_of_the_leaves_replaces_one_that_resembles_none():
    leaf = (
        "The harbour pump failed in March because silt had blocked its intake. An engineer "
        "replaced the filter of the pump. Three hours later it was running again."
    )
    first = "The pump of the harbour stopped because its intake was full of silt."
    embed = make_embedder(EmbedderSettings()).embed
    for wrong in ("A worker repaired the machine.", "The engineer bought 4,000 filters."):
        found = separate_foreign_facts(f"{first} {wrong} {wrong}", [leaf], embed)
        assert found.remaining_text == f"{first} An engineer replaced the filter of the pump."
