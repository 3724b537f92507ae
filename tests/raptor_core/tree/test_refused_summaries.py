"""Summaries that a model refuses: written extractively, marked, bounded, and requested again."""

from dataclasses import replace

import pytest
from support.clusterers import FOURS
from support.openai_server import Fault
from support.paid_build import DOCUMENTS as LONG
from support.paid_build import make_components, paid_settings

from raptor_core.checks.base import CheckedLayer
from raptor_core.checks.junk import model_answers
from raptor_core.errors import SummaryError
from raptor_core.identity import CUT_OFF, FALLBACK
from raptor_core.rebuild import plan_rebuild
from raptor_core.tree.build import build_tree
from raptor_core.tree.cache import NodeCache

DOCUMENTS = [replace(document, text=document.text[:4000]) for document in LONG]


def components_of(server, cache=None, components=FOURS, **summarizer):
    summarizer = {"max_retries": 0, "concurrency": 1, **summarizer}
    settings = paid_settings(server.base_url, summarizer=summarizer, components=components)
    return make_components(settings, cache=cache)


def refuse(server, n_prompts, fault=None):
    """Let the first prompts be refused, each as often as it is sent."""
    prompts = []

    def is_refused(body):
        prompt = body["messages"][1]["content"].partition("</excerpts>")[0]
        if prompt not in prompts and len(prompts) < n_prompts:
            prompts.append(prompt)
        return prompt in prompts

    server.fail(fault or Fault.filtered(), times=None, when=is_refused)


def build(components, previous=None):
    return build_tree(DOCUMENTS, components=components, previous=previous)


def marked(tree):
    return [node for node in tree.nodes() if FALLBACK in node.quality]


REFUSALS = {
    "filtered": Fault.filtered(),
    "cut off": Fault.truncated(),
    "a loop": Fault.answering("the river and the sea, " * 10),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_summary_is_written_of_its_childrens_sentences_and_marked(server, name):
    refuse(server, 1, REFUSALS[name])
    components = components_of(server)
    tree = build(components)
    (node,) = marked(tree)
    joined = " ".join(child.text for child in tree.children(node.id))
    assert all(f"{sentence}." in joined for sentence in node.text.rstrip(".").split(". "))
    others = [n for n in tree.nodes() if n.layer and n.id != node.id]
    assert all(n.text.startswith("In short:") for n in others)
    below = {node.id: node for node in tree.layers[0].nodes}
    result = model_answers(CheckedLayer(tree.layers[1].nodes, below, components.settings))
    assert (result.passed, result.severity, result.numbers["fallback"]) == (False, "warn", 1)
    assert [worst.node_id for worst in result.worst] == [node.id]


@pytest.mark.parametrize("fault", [Fault.error(401), Fault.error(503), Fault.rate_limited()])
def test_an_outage_or_a_wrong_key_never_leads_to_an_extractive_summary(server, fault):
    refuse(server, 1, fault)
    with pytest.raises(SummaryError):
        build(components_of(server))


@pytest.mark.slow
def test_a_layer_with_more_refused_summaries_than_allowed_fails_with_count_and_chunks(server):
    refuse(server, 3)
    with pytest.raises(SummaryError, match=r"(?s)^3 of .*a\.md:\d+-\d+.*3 got no usable answer"):
        build(components_of(server, max_fallback=0.0012))
    assert len(marked(build(components_of(server, max_fallback=0.4)))) == 3


@pytest.mark.slow
def test_a_small_layer_may_have_one_refused_summary_but_where_the_settings_forbid_it(server):
    refuse(server, 1)
    assert len(marked(build(components_of(server, max_fallback=0.001)))) == 1
    with pytest.raises(SummaryError, match="content filter"):
        build(components_of(server, max_fallback=0.0))


@pytest.mark.slow
def test_the_next_build_asks_again_for_a_refused_summary_and_those_above_it(server):
    refuse(server, 1)
    cache = NodeCache()
    components = components_of(server, cache, components={"clusterer": ""})
    tree = build(components)
    assert len(marked(tree)) == 1
    server.stop_failing()
    planned = plan_rebuild({tree.name: tree}, {tree.name: DOCUMENTS}, components=components)
    n_before = server.n_requests
    again = build(components, previous=tree)
    assert not marked(again)
    n_new = len({node.id for node in again.nodes()} - {node.id for node in tree.nodes()})
    assert (
        server.n_requests - n_before == n_new == planned.summary_usage.calls == planned.lower_bound
    )
    assert n_new > 1


@pytest.mark.slow
def test_a_summary_that_is_refused_again_stays_and_so_do_those_above_it(server):
    refuse(server, 1)
    cache = NodeCache()
    tree = build(components_of(server, cache))
    n_before = server.n_requests
    again = build(components_of(server, cache), previous=tree)
    assert [(n.id, n.text) for n in again.nodes()] == [(n.id, n.text) for n in tree.nodes()]
    assert server.n_requests - n_before == 1


def test_a_cut_answer_is_marked_and_never_paid_for_again(server):
    server.fail(Fault.answering("The river ran past the mill. The keeper then went", "length"))
    cache = NodeCache()
    components = components_of(server, cache, components={"clusterer": ""})
    tree = build(components)
    (cut,) = (node for node in tree.nodes() if CUT_OFF in node.quality)
    assert cut.text == "The river ran past the mill."
    n_before = server.n_requests
    planned = plan_rebuild({tree.name: tree}, {tree.name: DOCUMENTS}, components=components)
    assert planned.summary_usage.calls == 0
    again = build(components, previous=tree)
    assert [node.id for node in again.nodes()] == [node.id for node in tree.nodes()]
    assert server.n_requests == n_before
    below = {node.id: node for node in tree.layers[cut.layer - 1].nodes}
    result = model_answers(CheckedLayer(tree.layers[cut.layer].nodes, below, components.settings))
    assert (result.passed, result.numbers["cut_off"]) == (True, 1)
