"""`raptor ask`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import click

from dagster_project.cli.exits import exit_code, fail
from dagster_project.cli.options import (
    home_and_json,
    make_query,
    query_options,
    require_words,
    why_nothing,
)
from dagster_project.cli.output import (
    passage_values,
    print_hits,
    print_json,
    print_quotes,
    quote_values,
    retrieval_values,
    told_usd,
)
from raptor_assets.names import counted
from raptor_assets.project.home import Home
from raptor_core.errors import MissingKeyError, UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.overview import OverviewPlan, answer_by, overview_answer
from raptor_core.models.reading.reader import Answer, Passage, Quote, Reader, best_sentences
from raptor_core.retrieval import Query, Retrieval
from raptor_core.tree.components import Components
from raptor_core.tree.overview import OVERVIEW

NAMED_SPANS = 3
"""Spans under a citation that are named; ``--json`` has all."""


@click.command(epilog="\b\nExample:\n  raptor ask 'what did the two incidents have in common?'")
@click.argument("question")
@query_options
@click.option("--plan", is_flag=True, help="With --scope corpus: say calls and cost, call nothing.")
@home_and_json
def command(question: str, plan: bool, home: Path, as_json: bool, **values: Any) -> None:
    """Answer a question from the trees, with its sources.

    With --scope corpus it is about everything: a layer of the tree above the trees is read in
    parts, and the parts' answers together, within [budget]. Without a reader the overview itself
    is the answer.

    Needs a chat endpoint (settings [reader]). Without its key the context is shown with the
    sentences nearest to the question, what is missing is said, and the exit code is 7.
    """
    require_words(question)
    _, settings = Home.open(home)
    components = Components(settings)
    if values["scope"] == "corpus":
        retriever = HomeRetriever(home, components)
        query = make_query(settings, values)
        _ask_corpus(retriever, question, query, only_plan=plan, as_json=as_json)
        return
    retrieval = HomeRetriever(home, components).search(question, make_query(settings, values))
    if not retrieval.hits:
        raise UnknownTreeError(f"nothing to answer from: {why_nothing(retrieval.query)}")
    passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
    try:
        answer = Reader(settings.reader).read(question, passages)
    except MissingKeyError as error:
        quotes = best_sentences(question, passages, components.embedder)
        _show_context(error, retrieval, quotes, as_json=as_json)
    _print(answer, retrieval, as_json=as_json)


def _ask_corpus(
    retriever: HomeRetriever, question: str, query: Query, *, only_plan: bool, as_json: bool
) -> None:

    plan = retriever.plan_answer(query)
    if only_plan:
        _print_corpus(retriever, plan, None, as_json=as_json)
        return
    if not as_json:
        click.secho(_told_plan(plan), dim=True, err=True)
    try:
        answer = answer_by(plan, question, retriever.settings)
    except MissingKeyError as error:
        answer = overview_answer(retriever.nodes(OVERVIEW), query.budget_tokens)
        told = f"the overview itself, since no reader can be asked: {error}"
        click.secho(told, dim=True, err=True)
    _print_corpus(retriever, plan, answer, as_json=as_json)


def _told_plan(plan: OverviewPlan) -> str:
    tokens = plan.prompt_tokens + plan.completion_tokens
    return (
        f"reads the {len(plan.nodes)} nodes of layer {plan.layer} of the tree above the trees: "
        f"{counted(plan.calls, 'call')}, at the most about {tokens:,} tokens, "
        f"{told_usd(plan.usd, '.4f')}"
    )


def _print_corpus(
    retriever: HomeRetriever, plan: OverviewPlan, answer: Answer | None, *, as_json: bool
) -> None:

    foretold = {
        "layer": plan.layer,
        "n_nodes": len(plan.nodes),
        "calls": plan.calls,
        "prompt_tokens": plan.prompt_tokens,
        "completion_tokens": plan.completion_tokens,
        "usd": plan.usd,
    }
    if answer is None:
        print_json({"plan": foretold}) if as_json else click.echo(_told_plan(plan))
        return
    spans = [retriever.trace(passage.node_id).spans for passage in answer.citations]
    if as_json:
        citations = [
            {**passage_values(passage), "spans": [asdict(span) for span in under]}
            for passage, under in zip(answer.citations, spans, strict=True)
        ]
        print_json({"answer": answer.text, "citations": citations, "plan": foretold})
        return
    click.echo(answer.text)
    for number, (passage, under) in enumerate(zip(answer.citations, spans, strict=True), 1):
        click.secho(f"[{number}] {passage.place}  {passage.node_id}", fg="cyan")
        named = [f"{span.document}[{span.start}:{span.end}]" for span in under[:NAMED_SPANS]]
        more = f" and {len(under) - len(named)} more" if len(under) > len(named) else ""
        click.secho(f"    {', '.join(named)}{more}", dim=True)


def _show_context(
    error: MissingKeyError, retrieval: Retrieval, quotes: list[Quote], *, as_json: bool
) -> NoReturn:

    told: dict[str, Any] = {}
    if as_json:
        told = {"quotes": [quote_values(quote) for quote in quotes], **retrieval_values(retrieval)}
    else:
        click.secho("No reader can be asked. The sentences nearest to the question:", bold=True)
        print_quotes(quotes)
        click.secho("\nThe context that a reader would answer from:", bold=True)
        print_hits(retrieval)
    fail(type(error).__name__, str(error), exit_code(type(error)), as_json=as_json, **told)


def _print(answer: Answer, retrieval: Retrieval, *, as_json: bool) -> None:

    if as_json:
        citations = [passage_values(passage) for passage in answer.citations]
        print_json({"answer": answer.text, "citations": citations, **retrieval_values(retrieval)})
        return
    click.echo(answer.text)
    for number, passage in enumerate(answer.citations, 1):
        click.secho(f"[{number}] {passage.place}  {passage.node_id}", fg="cyan")
    if not answer.citations:
        click.secho("the answer cites no source", fg="yellow", err=True)
