"""Questions: `raptor query` and `raptor ask`."""

from collections.abc import Mapping, Sequence
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Any, NoReturn

import click

from raptor_assets.cli.exits import exit_code, fail
from raptor_assets.cli.options import (
    STRATEGY,
    explain_empty,
    home_and_json,
    make_query,
    query_options,
    with_strategy,
)
from raptor_assets.cli.output import node_values, print_json, print_wide, usd_text
from raptor_assets.cli.terminal import say, say_text
from raptor_assets.names import counted
from raptor_assets.tables_markdown import shorten
from raptor_assets.tree_picture import tree_svg
from raptor_core.errors import MissingKeyError, SettingsError, UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.corpus_tree import answer_by, refuse_narrowing, summary_answer
from raptor_core.models.reading.reader import Answer, Passage, Quote, best_sentences
from raptor_core.nodes import Node, format_pages, labelled
from raptor_core.redaction import printable
from raptor_core.retrieval import Query, Retrieval, SourceSpan
from raptor_core.retrieval.base import require_words
from raptor_core.store.base import Hit
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME
from raptor_core.tree.custom_components import reader_of

_compared_option = click.option(
    "--beside",
    "compared",
    multiple=True,
    type=STRATEGY,
    help="Strategy to compare with, in a further column; may be repeated.",
)


@click.command(
    epilog="\b\nExample:\n  raptor query 'why did the pump fail?' --budget-tokens 500 --layer 0"
)
@click.argument("question")
@query_options
@_compared_option
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for a drawing of the trees with the retrieved nodes.",
)
@home_and_json
def query_command(
    question: str,
    compared: tuple[str, ...],
    svg: Path | None,
    home: Path,
    as_json: bool,
    **values: Any,
) -> None:
    """Retrieve the chunks and summaries that answer a question.

    They come in the strategy's order: by default that of the document, with scores.

    `raptor tree TREE --trace NODE` shows the sources of a summary.
    """
    require_words(question)
    retriever = HomeRetriever(home)
    query = make_query(retriever.settings, values, compared)
    retrievals = _search_all(retriever, question, query, compared, values["encoders"])
    if retrievals[0].hits and retrievals[0].note and not as_json:
        say(retrievals[0].note, fg="yellow", err=True)
    if svg is not None:
        _draw(svg, retriever, retrievals)
    if as_json:
        first, *rest = map(_retrieval_values, retrievals)
        print_json(first | ({"beside": rest} if compared else {}))
    elif not any(retrieval.hits for retrieval in retrievals):
        say(explain_empty(query, retrievals, values), fg="yellow", err=True)
    elif compared:
        _print_columns(retrievals)
    else:
        _print_hits(retrievals[0])


def _draw(path: Path, retriever: HomeRetriever, retrievals: Sequence[Retrieval]) -> None:
    names = sorted({hit.node.tree for retrieval in retrievals for hit in retrieval.hits})
    trees = {name: retriever.nodes(name) for name in names}
    retrieved = {r.query.strategy: [hit.node.id for hit in r.ranked] for r in retrievals}
    try:
        path.write_text(tree_svg(trees, retrieved, retrievals[0].question), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {error}; name another file") from error


NAMED_DOCUMENTS = 3  # documents of a summary that are named
NAMED_SPANS = 3  # spans under a citation that are named; ``--json`` has all


@click.command(epilog="\b\nExample:\n  raptor ask 'what did the two incidents have in common?'")
@click.argument("question")
@query_options
@_compared_option
@click.option("--plan", is_flag=True, help="With --scope corpus: show calls and cost only.")
@home_and_json
def ask_command(
    question: str, compared: tuple[str, ...], plan: bool, home: Path, as_json: bool, **values: Any
) -> None:
    """Answer a question from the trees, with its sources.

    With --beside the question is answered from the context of each strategy, side by side.

    With --scope corpus the question is about all documents: nodes of the corpus tree and passages
    of the trees are read once. With --layer N that layer of the corpus tree is read in
    parts, then the answers to the parts, within [budget]. Without a reader the answer quotes what
    would be read.

    Needs a chat endpoint (settings [reader]). Without its key the command prints the context, the
    sentences nearest to the question and the name of the missing key, and exits with 7.
    """
    require_words(question)
    retriever = HomeRetriever(home)
    settings = retriever.settings
    if values["scope"] == "corpus":
        accepted = ("scope", "budget_tokens", "layers", "kind")
        options = {**values, "beside": compared}
        chosen = (name for name, value in options.items() if value not in (None, ()))
        refuse_narrowing(name for name in chosen if name not in accepted)
        query = make_query(settings, values)
        _ask_corpus(retriever, question, query, only_plan=plan, as_json=as_json)
        return
    query = make_query(settings, values, compared)
    retrievals = _search_all(retriever, question, query, compared, values["encoders"])
    if not retrievals[0].hits:
        reason = explain_empty(query, retrievals[:1], values)
        raise UnknownTreeError(f"nothing to answer from: {reason}")
    passages = [[Passage.from_node(hit.node) for hit in each.hits] for each in retrievals]
    reader = reader_of(settings)
    try:
        answers = [reader.read(question, each) if each else Answer("", ()) for each in passages]
    except MissingKeyError as error:
        quotes = best_sentences(question, passages[0], retriever.components.embedder)
        _show_context(error, retrievals[0], quotes, as_json=as_json)
    if compared:
        _print_answers(answers, retrievals, as_json=as_json)
    else:
        _print(answers[0], _retrieval_values(retrievals[0]), as_json=as_json)
        if not as_json:
            _print_uncited(answers[0], passages[0])
            _print_note(retrievals[0])


def _search_all(
    retriever: HomeRetriever,
    question: str,
    query: Query,
    compared: Sequence[str],
    encoders: tuple[str, str] | None,
) -> list[Retrieval]:
    """Search by the query's strategy, and by each that it is compared with."""
    names = dict.fromkeys((query.strategy, *compared))
    queries = [with_strategy(query, name, encoders) for name in names]
    return [retriever.search(question, each) for each in queries]


def _ask_corpus(
    retriever: HomeRetriever, question: str, query: Query, *, only_plan: bool, as_json: bool
) -> None:
    plan = retriever.plan_answer(question, query)
    names = ("layer", "calls", "prompt_tokens", "completion_tokens", "usd", "reads", "caution")
    figures = {name: getattr(plan, name) for name in names}
    values = {"plan": {**figures, "n_nodes": len(plan.nodes)}}
    tokens = plan.prompt_tokens + plan.completion_tokens
    text = (
        f"reads {plan.reads}: "
        f"{counted(plan.calls, 'call')}, at most about {tokens:,} tokens, "
        f"{usd_text(plan.usd, '.4f')}"
    )
    if plan.caution and not as_json:
        say(plan.caution, fg="yellow", err=True)
    if only_plan:
        print_json(values) if as_json else say(text)
        return
    if not as_json:
        say(text, dim=True, err=True)
    try:
        answer = answer_by(plan, question, retriever.settings)
    except MissingKeyError as error:
        nodes = retriever.nodes(CORPUS_TREE_NAME)
        answer, _ = summary_answer(plan, nodes, query.budget_tokens)
        say(f"the context itself, as no reader is set up: {error}", dim=True, err=True)
    spans = [retriever.trace(passage.node_id).spans for passage in answer.citations]
    _print(answer, values, spans, as_json=as_json)


def _show_context(
    error: MissingKeyError, retrieval: Retrieval, quotes: list[Quote], *, as_json: bool
) -> NoReturn:
    values: dict[str, Any] = {}
    if as_json:
        values = {"quotes": list(map(_quote_values, quotes)), **_retrieval_values(retrieval)}
    else:
        if quotes:
            say("No reader is set up. The sentences nearest to the question:", bold=True)
            _print_quotes(quotes)
            say()
        say("The context that a reader would answer from:", bold=True)
        _print_hits(retrieval)
    fail(type(error).__name__, str(error), exit_code(type(error)), as_json=as_json, **values)


def _print(
    answer: Answer,
    values: Mapping[str, Any],
    spans: Sequence[Sequence[SourceSpan]] = (),
    *,
    as_json: bool,
) -> None:
    traced = zip(answer.citations, spans or repeat(()), strict=False)
    if as_json:
        citations = [
            _passage_values(passage) | ({"spans": under} if spans else {})
            for passage, under in traced
        ]
        print_json({"answer": answer.text, "citations": citations, **values})
        return
    say_text(answer.text)
    for number, (passage, under) in enumerate(traced, 1):
        say(f"[{number}] {passage.place}  {passage.node_id}", fg="cyan")
        named = [f"{span.document}[{span.start}:{span.end}]" for span in under[:NAMED_SPANS]]
        more = f" and {len(under) - len(named)} more" if len(under) > len(named) else ""
        if named:
            say(f"    {', '.join(named)}{more}", dim=True)
    if not answer.citations:
        say("the answer cites no source", fg="yellow", err=True)


def _print_uncited(answer: Answer, passages: Sequence[Passage]) -> None:
    """Print the passages that the answer was read from, too, and does not cite."""
    cited = {passage.node_id for passage in answer.citations}
    if rest := [passage for passage in passages if passage.node_id not in cited]:
        say("read, and not cited:", dim=True)
    for passage in rest:
        say(f"    {passage.place}  {passage.node_id}", dim=True)


def _print_answers(
    answers: Sequence[Answer], retrievals: Sequence[Retrieval], *, as_json: bool
) -> None:
    """Print a column for the answer from each context."""
    from rich.table import Table
    from rich.text import Text

    if as_json:
        first, *rest = [
            {
                "answer": answer.text,
                "citations": list(map(_passage_values, answer.citations)),
                **_retrieval_values(retrieval),
            }
            for answer, retrieval in zip(answers, retrievals, strict=True)
        ]
        print_json({**first, "beside": rest})
        return
    table = Table(expand=True)
    cells = []
    for answer, retrieval in zip(answers, retrievals, strict=True):
        table.add_column(_column_head(retrieval), ratio=1)
        cited = [f"[{n}] {passage.place}" for n, passage in enumerate(answer.citations, 1)]
        cells.append(Text("\n".join([printable(answer.text), "", *map(printable, cited)])))
    table.add_row(*cells)
    print_wide(table)


def _column_head(retrieval: Retrieval) -> str:
    query = retrieval.query
    kind = f"{query.strategy} ({retrieval.kind})" if retrieval.kind else query.strategy
    tokens = f"{retrieval.n_tokens:,} of {query.budget_tokens:,} tokens"
    return f"{kind}: {len(retrieval.hits)} nodes, {tokens}"


def _retrieval_values(retrieval: Retrieval) -> dict[str, Any]:
    names = ("kind", "reason", "n_tokens", "n_candidates", "n_passed_over", "n_paragraphs", "note")
    return {
        "question": retrieval.question,
        "strategy": retrieval.query.strategy,
        "budget_tokens": retrieval.query.budget_tokens,
        **{name: getattr(retrieval, name) for name in names},
        "nodes": [
            {"score": round(hit.score, 4), "why": dict(hit.why), **node_values(hit.node)}
            for hit in retrieval.hits
        ],
    }


def _passage_values(passage: Passage) -> dict[str, Any]:
    """Return the origin of a passage as plain values; ``span`` is null for a summary."""
    return {
        "node": passage.node_id,
        "documents": list(passage.documents),
        "span": passage.span and list(passage.span),
        "pages": list(passage.pages),
    }


def _quote_values(quote: Quote) -> dict[str, Any]:
    return {
        "text": quote.text,
        "similarity": round(quote.similarity, 4),
        **_passage_values(quote.passage),
        "span": quote.span and list(quote.span),
    }


def _place(node: Node) -> str:
    names = ", ".join(node.documents[:NAMED_DOCUMENTS])
    hidden = len(node.documents) - NAMED_DOCUMENTS
    more = f" and {hidden} more" if hidden > 0 else ""
    where = f"summary of {len(node.children)} nodes of {names}{more}"
    if node.is_leaf:
        where = f"{node.documents[0]}[{node.start}:{node.end}]{format_pages(node.pages)}"
    return labelled(node.label, f"the top of {node.documents[0]}" if node.stands_for else where)


def _print_hits(retrieval: Retrieval) -> None:
    for rank, hit in enumerate(retrieval.hits, 1):
        kind = "chunk" if hit.node.is_leaf else f"layer {hit.node.layer}"
        say(f"{rank:>2}. {hit.score:.3f}  {kind:<8} {_place(hit.node)}", fg="cyan")
        say(f"    {hit.node.id}", dim=True)
        say(f"    {shorten(hit.node.text)}")
    tokens = f"{retrieval.n_tokens} of {retrieval.query.budget_tokens} tokens"
    say(f"{len(retrieval.hits)} nodes, {tokens}", dim=True)
    if retrieval.kind:
        say(f"{retrieval.kind} question: it {retrieval.reason}", dim=True)
    _print_note(retrieval)


def _print_note(retrieval: Retrieval) -> None:
    if retrieval.note:
        say(retrieval.note, fg="yellow", err=True)


def _print_columns(retrievals: Sequence[Retrieval]) -> None:
    """Print a column of full texts for each context; mark nodes that all have with "="."""
    from rich.table import Table
    from rich.text import Text

    everywhere = set.intersection(*({hit.node.id for hit in r.hits} for r in retrievals))

    def cell(hit: Hit) -> Text:
        mark = "= " if hit.node.id in everywhere else ""
        head = printable(f"{mark}{hit.score:.3f} {_place(hit.node)}", lines=False)
        return Text.assemble((f"{head}\n", "cyan"), " ".join(hit.node.text.split()))

    table = Table(show_lines=True, expand=True)
    for column in retrievals:
        table.add_column(_column_head(column), ratio=1)
    for row in zip_longest(*(retrieval.hits for retrieval in retrievals)):
        table.add_row(*(cell(hit) if hit else None for hit in row))
    print_wide(table)


def _print_quotes(quotes: Sequence[Quote]) -> None:
    for quote in quotes:
        where = quote.passage.place
        if quote.span:
            where = f"{quote.passage.documents[0]}[{quote.span[0]}:{quote.span[1]}]"
            where = labelled(quote.passage.label, where)
        say(f"  “{shorten(quote.text)}”")
        say(f"      {where}", fg="cyan")
