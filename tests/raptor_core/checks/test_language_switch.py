"""The check finds summaries in another language than their children, but no code or quotes."""

import pytest
from support.trees import checked_layer, leaf, summary

from raptor_core.checks.document_text import (
    document_text,
    find_odd_text,
)
from raptor_core.checks.languages import detect_language, find_language_switch, language_switch
from raptor_core.documents.base import Document
from raptor_core.settings import CheckSettings

TEXTS = {
    "English": "The lamp was lit in 1872 by Agnes Moor, and it burned rape oil until paraffin came "
    "to the island in 1911. The keeper wound the clockwork every four hours.",
    "German": "Die Lampe wurde im Jahr 1872 von Agnes Moor entzündet und brannte mit Rapsöl, bis "
    "das Paraffin auf die Insel kam. Der Wärter zog das Uhrwerk alle vier Stunden auf.",
    "French": "La lampe a été allumée en 1872 par Agnès Moor et elle brûlait de l'huile de colza "
    "jusqu'à l'arrivée de la paraffine. Le gardien remontait le mécanisme toutes les heures.",
    "Spanish": "La lámpara fue encendida en 1872 por Agnes Moor y ardía con aceite hasta que llegó "
    "la parafina a la isla. El farero daba cuerda al reloj cada cuatro horas.",
    "Italian": "La lampada fu accesa nel 1872 da Agnes Moor e bruciava olio di colza fino a quando "
    "la paraffina è arrivata sull'isola. Il guardiano caricava il meccanismo ogni quattro ore.",
    "Dutch": "De lamp werd in 1872 door Agnes Moor ontstoken en brandde op raapolie tot er "
    "paraffine op het eiland kwam. De wachter wond het uurwerk om de vier uur op.",
    "Swedish": "Lampan tändes 1872 av Agnes Moor och den brann med rapsolja tills det kom fotogen "
    "till ön. Då var den inte som förr, och vaktaren drog upp urverket var fjärde timme.",
    "Polish": "Lampa została zapalona w 1872 roku przez Agnes Moor i paliła się na oleju, aż na "
    "wyspę trafiła nafta. To było po wielu latach, a latarnik nie miał już co robić.",
    "Danish": "Pumpen på kajen gik i stykker to gange om vinteren. Teknikere udskiftede pakningen "
    "og rensede filteret tirsdag.",
    "Portuguese": "Os técnicos trocaram a junta e limparam o filtro. Os custos subiram um terço, "
    "pois algumas peças vieram de avião.",
    "Czech": "Čerpadlo na nábřeží se v zimě dvakrát porouchalo. Technici vyměnili těsnění a "
    "vyčistili filtr, než loď opustila přístav.",
    "Finnish": "Laiturin pumppu hajosi talvella kaksi kertaa. Asentajat vaihtoivat tiivisteen ja "
    "puhdistivat suodattimen tiistaina, koska kukaan ei ollut tarkistanut painetta.",
}
OTHER_SCRIPTS = {
    "Cyrillic": "Ночью река поднялась, и жители города ушли в замок на холме. Они взяли с собой "
    "хлеб и воду, потому что не знали, когда смогут вернуться домой.",
    "Greek": "Η λάμπα άναψε το 1872 από την Άγκνες Μουρ και έκαιγε λάδι μέχρι να έρθει η παραφίνη.",
    "Arabic": "أُضيء المصباح عام 1872 على يد أغنيس مور، وكان يعمل بزيت اللفت حتى وصل البارافين.",
    "Japanese": "ランプは1872年にアグネス・ムーアによって灯され、1911年まで菜種油を燃やしていた。",
    "Han": "这盏灯于一八七二年由艾格尼丝点亮，一直燃烧菜籽油，直到煤油来到岛上。",
    "Korean": "등불은 1872년에 아그네스 무어가 밝혔고 파라핀이 들어올 때까지 유채 기름을 태웠다.",
    "Thai": "โคมไฟถูกจุดในปี 1872 โดยแอกเนส มัวร์ และใช้น้ำมันเรพซีดจนกระทั่งมีพาราฟิน",
}
ENGLISH_TWO = (
    "In the storm of January 1953 the sea broke the windows of the gallery. The keeper kept the "
    "lamp burning for nineteen hours with a coat over the pane that had been broken."
)
CODE = "def area(w, h):\n    if w is None or h is None:\n        return 0\n    return w * h\n"


LANGUAGES = "en de fr es it nl sv pl da pt cs fi ru el ar ja zh ko th"
CODES = dict(zip([*TEXTS, *OTHER_SCRIPTS], LANGUAGES.split(), strict=True))


def switched(text, *children):
    return find_language_switch(text, children)


@pytest.mark.parametrize("name", CODES)
def test_the_language_of_a_paragraph_is_recognized(name):
    assert detect_language((TEXTS | OTHER_SCRIPTS)[name]) == CODES[name]


@pytest.mark.parametrize("found", TEXTS)
@pytest.mark.parametrize("expected", ["English", "French", "Swedish"])
def test_a_summary_in_another_language_is_a_switch_and_in_the_same_none(found, expected):
    children = [TEXTS[expected], TEXTS[expected].upper()]
    wanted = None if found == expected else (CODES[found], CODES[expected])
    assert switched(TEXTS[found], *children) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1872 1911 1953",
        CODE,
        CODE * 4,
        "Agnes Moor, Tom Ferris, Farness",
        "Agnes Moor, Tom Ferris, Mary Blake, John Stone, Ann Reed, Peter Marsh, Jane Field, Bo Li",
        "The lamp.",
        "https://example.org/a/b?for=the&is=in",
    ],
)
@pytest.mark.parametrize("children", [TEXTS["German"], OTHER_SCRIPTS["Japanese"] + CODE])
def test_short_texts_code_and_names_are_in_no_language(text, children):
    assert switched(text, children) is None


def test_a_language_that_one_child_has_is_no_switch():
    assert switched(TEXTS["English"], TEXTS["German"], ENGLISH_TWO) is None
    mixed = OTHER_SCRIPTS["Cyrillic"] + " " + ENGLISH_TWO
    assert switched(TEXTS["English"], OTHER_SCRIPTS["Cyrillic"], mixed) is None


def test_a_quoted_sentence_of_a_child_is_no_switch():
    quote = "Il gardait la lampe allumée toutes les nuits et il ne dormait pas dans la tour."
    below = [leaf("a", f"{TEXTS['English']} {quote}"), leaf("b", ENGLISH_TWO)]
    nodes = [summary("s", "ab", text=quote)]
    assert language_switch(checked_layer(nodes, below)).passed


def test_the_verdict_warns_with_the_share_and_the_two_languages():
    below = [leaf("a", TEXTS["English"]), leaf("b", ENGLISH_TWO)]
    nodes = [
        summary("good", "ab", text=ENGLISH_TWO + " It was the worst that anybody had seen."),
        summary("bad", "ab", text=TEXTS["German"]),
    ]
    found = language_switch(checked_layer(nodes, below))
    assert (found.name, found.passed, found.severity) == ("language_switch", False, "warn")
    assert found.numbers["switched_share"] == 0.5
    assert [(worst.node_id, worst.why) for worst in found.worst] == [("bad", "de, its children en")]


PROSE = "The second set of files is called the archive, and it holds what was written before. " * 4
GLUED = " ".join(
    f"Thissecondsetof{word}iscalledthearchive and it holds what was written."
    for word in PROSE.split()
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GLUED, "of the letters are in glued words"),
        (PROSE.replace("s", "\ufffd"), "of the characters are unreadable"),
        (PROSE.replace("e", "\ue012"), "of the characters are unreadable"),
        ("1953 12.5 17.25 | 0.004 - - - 88 " * 20, "of the characters are not letters"),
    ],
)
def test_a_text_that_was_read_wrongly_is_reported_with_a_piece_of_it(text, reason):
    odd = find_odd_text(Document("a.pdf", f"{PROSE[:30]}{text}"))
    assert odd is not None
    assert reason in odd.reason
    assert odd.excerpt in f"{PROSE[:30]}{text}"


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "水位計は五月に測量され、高さは七メートルである。" * 20,
        "Die Donaudampfschifffahrtsgesellschaft fuhr im Sommer jeden Tag flussabwärts. " * 20,
        "कुछ शब्द यहाँ लिखे गए हैं और वे पढ़े जा सकते हैं। " * 10,
        "def read_the_whole_page(self, pages_of_document): return parse_html(data) # ok\n" * 6,
        "12 34 56",
    ],
)
def test_prose_of_any_script_code_and_short_texts_are_left_in_peace(text):
    assert find_odd_text(Document("a.md", text)) is None


def test_many_pages_without_any_text_are_reported():
    text = f"{PROSE}\n\n\n\n{PROSE}"
    second = len(PROSE) + 2
    odd = find_odd_text(Document("a.pdf", text, pages=(0, second, second + 2)))
    assert odd is not None
    assert odd.reason == "hardly any text on 1 of 3 pages"
    starts = (0, second, second + 2, *range(second + 100, second + 400, 100))
    assert find_odd_text(Document("a.pdf", text, pages=starts)) is None


def test_the_verdict_names_the_documents_up_to_a_bound():
    documents = [Document("a.pdf", GLUED), Document("b.md", PROSE)]
    found = document_text(documents, CheckSettings())
    assert (found.passed, found.severity) == (False, "warn")
    assert "a.pdf: " in found.summary
    assert [worst.tree for worst in found.worst] == ["a.pdf"]
    assert found.numbers == {"documents": 2.0, "odd": 1.0, "odd_share": 0.5}
    half = CheckSettings(max_odd_documents=0.5)
    assert document_text(documents, half).passed
