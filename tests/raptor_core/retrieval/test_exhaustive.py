"""Questions that no summary can answer are recognized by their words, in several languages."""

import pytest

from raptor_core.retrieval.general.wording import exhaustive_kind


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
        ("Quante pompe ci sono?", "count"),
        ("Quantos incidentes houve?", "count"),
        ("Сколько было аварий?", "count"),
        ("사고가 몇 건 있었습니까?", "count"),
        ("펌프가 몇 개 있습니까?", "count"),
        ("List all suppliers.", "list"),
        ("Nenne alle Lieferanten.", "list"),
        ("Liste toutes les pannes.", "list"),
        ("Enumera todos los proveedores.", "list"),
        ("Elenca tutti i fornitori.", "list"),
        ("Liste todos os fornecedores.", "list"),
        ("Перечислите все насосы.", "list"),
        ("列出所有的供应商", "list"),
        ("すべての供給業者を列挙してください", "list"),
        ("공급업체를 모두 나열하세요", "list"),
        ("Which document has the largest budget?", "extreme"),
        ("Was ist der älteste Bericht?", "extreme"),
        ("Quel est le plus grand entrepôt ?", "extreme"),
        ("Why was the longest discussion about costs?", "extreme"),
        ("¿Cuál es el almacén más grande?", "extreme"),
        ("¿Cuál es el mayor almacén?", "extreme"),
        ("Qual è il documento più antico?", "extreme"),
        ("Qual é o armazém mais antigo?", "extreme"),
        ("Qual é o maior armazém?", "extreme"),
        ("Какая самая большая станция?", "extreme"),
        ("哪个仓库最大？", "extreme"),
        ("最大の倉庫はどれですか？", "extreme"),
        ("가장 큰 창고는 무엇입니까?", "extreme"),
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
        "Worum geht es in allen Dokumenten?",
        "Quels sont les problèmes principaux ?",
        "¿De qué trata la mayor parte de los documentos?",
        "Quali sono i temi principali?",
        "De que trata a maior parte dos textos?",
        "What did a mayor say in the town?",
        "О чём эти документы?",
        "主要的问题是什么？",
        "主なテーマは何ですか？",
        "이 문서들은 무엇에 관한 것입니까?",
    ],
)
def test_other_questions_do_not(question):
    assert exhaustive_kind(question) == ""
