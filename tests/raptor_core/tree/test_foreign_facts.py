"""Facts that a chat model invents: named to it once, then left out, or the children are quoted."""

import re
from dataclasses import replace

import numpy as np
import pytest
from support.openai_batches import FakeBatches
from support.paid_build import DOCUMENTS, make_components, paid_settings

from raptor_core.audit.facts import separate_foreign_facts
from raptor_core.checks.base import CheckedLayer, apply_severities, blocking_failures
from raptor_core.checks.facts import foreign_facts
from raptor_core.checks.junk import model_answers
from raptor_core.checks.registry import check_layer
from raptor_core.errors import BudgetError
from raptor_core.identity import REPLACED
from raptor_core.models.summarizing import batch
from raptor_core.nodes import leaf_texts_by_node
from raptor_core.rebuild import plan_rebuild
from raptor_core.settings import BudgetSettings, CheckSettings
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache

pytestmark = pytest.mark.slow

INVENTED = " They met Hallström in 1987."
DOCUMENT = [type(DOCUMENTS[0])("a.md", DOCUMENTS[0].text[:2400])]


def components_of(server, cache=None, **summarizer):
    settings = paid_settings(server.base_url, summarizer={"concurrency": 1, **summarizer})
    return make_components(settings, cache=cache)


def summary_of(body):
    """Every third word of the texts."""
    text = re.search(r"<excerpts>(.*)</excerpts>", str(body["messages"][1]["content"]), re.DOTALL)
    return f"In short: {' '.join(text[1].split()[::3]).replace('.', '')[:150].lower()}."


def names_inventions(body):
    return 'The text does not hold "1987", "Hallström":' in body["messages"][1]["content"]


def is_upper(body):
    return "In short:" in body["messages"][1]["content"]


def pleas(server):
    return [body for body in server.bodies if names_inventions(body)]


def checked(tree, layer, components):
    lower = [layer.nodes for layer in tree.layers[:layer]]
    nodes = tree.layers[layer].nodes
    below = {node.id: node for node in lower[-1]}
    leaves = leaf_texts_by_node(nodes, lower)
    return CheckedLayer(nodes, below, components.settings, leaf_texts=leaves)


def texts(tree):
    return [node.text for node in tree.nodes() if node.layer]


@pytest.fixture
def plain(server):
    """Texts of a tree for which the model invents nothing, with a call for each."""
    server.answer = summary_of
    made = texts(build_tree(DOCUMENT, components=components_of(server)))
    assert (len(made), pleas(server)) == (server.n_requests, [])
    return made


def test_a_model_that_corrects_its_answer_gets_each_request_once(server, plain):
    server.answer = lambda body: summary_of(body) + ("" if names_inventions(body) else INVENTED)
    components = components_of(server)
    assert texts(build_tree(DOCUMENT, components=components)) == plain
    spent = components.ledger.spent()
    assert len(pleas(server)) == len(plain)
    assert (spent.calls, spent.retries) == (2 * len(plain), len(plain))


def test_sentences_with_facts_that_stay_are_left_out_in_every_layer(server, plain):
    server.answer = lambda body: summary_of(body) + INVENTED
    components = components_of(server)
    tree = build_tree(DOCUMENT, components=components)
    assert len(tree.layers) > 2
    assert texts(tree) == plain
    assert len(pleas(server)) == len(plain)
    for layer in range(1, len(tree.layers)):
        result = foreign_facts(checked(tree, layer, components))
        assert (result.passed, result.severity) == (True, "error")


def test_an_upper_summary_may_hold_what_a_leaf_holds_and_no_child(server):
    text = f"The bridge was built by Oduya.\n\n{DOCUMENT[0].text}"
    server.answer = lambda body: (
        summary_of(body).replace("oduya", "her") + (" They met Oduya." if is_upper(body) else "")
    )
    tree = build_tree([replace(DOCUMENT[0], text=text)], components=components_of(server))
    lower = [layer.nodes for layer in tree.layers]
    for number in range(1, len(lower)):
        for node_id, leaves in leaf_texts_by_node(lower[number], lower[:number]).items():
            is_above = any("Oduya" in leaf for leaf in leaves)
            assert ("They met Oduya." in tree.node(node_id).text) == (is_above and number > 1)


def test_where_too_little_is_left_the_children_are_quoted_and_later_builds_keep_that(server):
    server.answer = lambda body: INVENTED if "garden silver" in str(body) else summary_of(body)
    cache = NodeCache()
    components = components_of(server, cache)
    tree = build_tree(DOCUMENT, components=components)
    replaced = [node for node in tree.nodes() if REPLACED in node.quality]
    assert replaced
    for node in replaced:
        joined = " ".join(child.text for child in tree.children(node.id))
        assert all(f"{part}." in joined for part in node.text.rstrip(".").split(". "))
    first = next(node for node in replaced if node.layer == 1)
    result = model_answers(checked(tree, 1, components))
    assert (result.passed, result.numbers["replaced"] > 0) == (True, True)
    assert first.id in {worst.node_id for worst in result.worst}
    n_before = server.n_requests
    planned = plan_rebuild({tree.name: tree}, {tree.name: DOCUMENT}, components=components)
    assert planned.summary_usage.calls == 0
    again = build_tree(DOCUMENT, components=components, previous=tree)
    assert [node.id for node in again.nodes()] == [node.id for node in tree.nodes()]
    assert server.n_requests == n_before


def test_where_the_settings_only_report_the_check_warns_and_names_the_facts(server):
    server.answer = lambda body: summary_of(body) + INVENTED
    components = components_of(server, foreign_facts="report")
    tree = build_tree(DOCUMENT, components=components)
    assert all("Hallström" in text for text in texts(tree))
    results = check_layer(checked(tree, 2, components))
    (result,) = [each for each in results if each.name == "foreign_facts"]
    assert (result.passed, result.severity) == (False, "warn")
    blocks = CheckSettings(severity={"foreign_facts": "error"})
    assert blocking_failures(apply_severities([result], blocks))
    assert result.numbers["foreign"] >= 2 * len(tree.layers[2].nodes)
    assert result.worst[0].why == "1987, Hallström"
    assert components.summarizer.fingerprint != components_of(server).summarizer.fingerprint


def quote_of(body):
    """The beginning of the texts in whole sentences, which is like them."""
    text = re.search(r"<excerpts>(.*)</excerpts>", str(body["messages"][1]["content"]), re.DOTALL)
    return " ".join(re.findall(r"[^.]+\.", text[1])[:2]).strip()


@pytest.mark.parametrize("batch_from", [0, 3])
def test_strict_settings_leave_out_what_resembles_no_leaf_and_call_the_model_no_more(
    server, monkeypatch, batch_from
):
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.001)
    FakeBatches(server)
    server.answer = lambda body: f"{quote_of(body)} Nobody ever taught a walrus to dance."
    components = components_of(server, foreign_facts="strict", batch_from=batch_from)
    tree = build_tree(DOCUMENT, components=components)
    assert len(tree.layers) > 2
    assert not any("Nobody" in n.text or REPLACED in n.quality for n in tree.nodes() if n.layer)
    spent = components.ledger.spent()
    assert (spent.calls, spent.retries) == (len(texts(tree)), 0)
    FakeBatches(server)
    wrong = (
        "Nobody ever taught a walrus to dance, to sing, to paint, to cook, to knit, to skate, to "
        "whistle, to juggle or to drive a tram through heavy rain in the afternoon."
    )
    server.answer = lambda body: f"{quote_of(body).split('.')[0]}. {wrong}"
    components = components_of(server, foreign_facts="strict", batch_from=batch_from)
    tree = build_tree(DOCUMENT, components=components)
    assert all(REPLACED in node.quality for node in tree.nodes() if node.layer)


def test_an_answer_that_invents_is_paid_once_though_the_budget_ends(server):
    server.answer = lambda _body: INVENTED
    cache, ended = NodeCache(), 0
    while True:
        settings = paid_settings(server.base_url, summarizer={"concurrency": 1})
        bounded = settings.model_copy(update={"budget": BudgetSettings(calls=3)})
        try:
            tree = build_tree(DOCUMENT, components=make_components(bounded, cache=cache))
            break
        except BudgetError:
            ended += 1
    assert ended > 2
    assert server.n_requests == 2 * len(texts(tree))


def test_an_answer_of_a_batch_is_sent_back_by_a_single_call(server, plain, monkeypatch):
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.001)
    FakeBatches(server)
    server.answer = lambda body: summary_of(body) + INVENTED
    tree = build_tree(DOCUMENT, components=components_of(server, batch_from=3))
    assert texts(tree) == plain
    assert len(pleas(server)) == len(plain)


def test_a_quotation_is_a_whole_sentence():
    leaves = [
        "The keeper trimmed the lamp and wrote it down , um",
        "The oil was measured again at noon.",
    ]

    def embed(texts):
        return np.array([[0.5, 0.75**0.5] if "walrus" in text else [1, 0] for text in texts])

    foreign = separate_foreign_facts("A walrus dances in the hall of mirrors.", leaves, embed)
    assert foreign.remaining_text == leaves[1]
