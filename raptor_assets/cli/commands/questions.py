"""Questions: `raptor query` and `raptor ask`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from raptor_assets.cli.exits import exit_code, fail
from raptor_assets.cli.options import home_and_json, query_options, read_options
from raptor_assets.cli.output import print_json
from raptor_assets.serving.answers import with_spans
from raptor_assets.serving.values import AskResponse, LinkOf, SearchResponse, links_of
from raptor_assets.shown.markdown import shorten
from raptor_assets.shown.terminal import say, say_text
from raptor_core.errors import MissingKeyError, UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.models.reading.reader import Answer, Passage
from raptor_core.nodes import Node, format_label, format_pages
from raptor_core.retrieval import Retrieval
from raptor_core.retrieval.base import require_words
from raptor_core.retrieval.questions import complete_follow_up
from raptor_core.tree.custom_components import make_answering_model


@click.command(
    epilog="\b\nExample:\n  raptor query 'why did the pump fail?' --budget-tokens 500 --layer 0"
)
@click.argument("question")
@query_options
@home_and_json
def query_command(question: str, home: Path, as_json: bool, **values: Any) -> None:
    """Search for chunks and summaries that answer a question.

    The command prints the nodes with their scores, by default in the order of the document.
    `raptor tree TREE --trace NODE` shows the sources of a summary.
    """
    require_words(question)
    options = read_options(values)
    retriever = HomeRetriever(home).for_readers(options.readers)
    retrieval = retriever.search(question, options.query(retriever.settings))
    link_of = links_of(retriever.settings)
    if as_json:
        print_json(SearchResponse.of(retrieval, link_of))
    elif not retrieval.hits:
        say(retrieval.explanation, fg="yellow", err=True)
    else:
        _print_hits(retrieval, link_of)


NAMED_DOCUMENTS = 3  # most documents of a summary to name
NAMED_SPANS = 5  # most spans of a cited summary to print


@click.command(epilog="\b\nExample:\n  raptor ask 'what did the two incidents have in common?'")
@click.argument("question")
@query_options
@home_and_json
def ask_command(question: str, home: Path, as_json: bool, **values: Any) -> None:
    """Answer a question from the trees, and cite the sources.

    For a question about all documents, use --scope corpus or --scope both.

    The command needs a chat model (settings [reader]). If the key of the endpoint is missing, the
    command prints the passages and the name of the missing key, and exits with code 7.
    """
    require_words(question)
    options = read_options(values)
    retriever = HomeRetriever(home).for_readers(options.readers)
    retrieval = retriever.search(question, options.query(retriever.settings))
    if not retrieval.hits:
        raise UnknownTreeError(f"nothing to answer from: {retrieval.explanation}")
    passages = [Passage.from_node(hit.node) for hit in retrieval.hits]
    link_of = links_of(retriever.settings)
    try:
        read = complete_follow_up(question, retrieval.query.history)
        answer = with_spans(
            make_answering_model(retriever.settings).read(read, passages), retriever
        )
    except MissingKeyError as error:
        _show_context(error, retrieval, link_of, as_json=as_json)
    if as_json:
        print_json(AskResponse.of(answer, retrieval, link_of))
    else:
        _print_answer(answer, {hit.node.id: link_of(hit.node) for hit in retrieval.hits})
        _print_uncited(answer, passages)
        _print_note(retrieval)


def _show_context(
    error: MissingKeyError, retrieval: Retrieval, link_of: LinkOf, *, as_json: bool
) -> NoReturn:
    if not as_json:
        say("No model is configured in [reader]. It would answer from these passages:", bold=True)
        for hit in retrieval.hits:
            say(_place(hit.node), fg="cyan")
            _print_link(link_of(hit.node))
            say_text(hit.node.shown_text, indent="    ")
    values = {"found": SearchResponse.of(retrieval, link_of).model_dump()} if as_json else {}
    fail(type(error).__name__, str(error), exit_code(type(error)), as_json=as_json, **values)


def _print_answer(answer: Answer, links: Mapping[str, str]) -> None:
    say_text(answer.text)
    for number, passage in enumerate(answer.citations, 1):
        say(f"[{number}] {passage.place}  {passage.node_id}", fg="cyan")
        _print_link(links[passage.node_id])
        _print_behind(passage)
    if not answer.citations:
        say("the answer cites no source", fg="yellow", err=True)


def _print_behind(passage: Passage) -> None:
    """Print the spans that a cited summary was made from."""
    for document, start, end in passage.source_spans[:NAMED_SPANS]:
        say(f"    made from {document}:{start}-{end}", dim=True)
    if (hidden := len(passage.source_spans) - NAMED_SPANS) > 0:
        say(f"    and {hidden} more spans: raptor tree TREE --trace {passage.node_id}", dim=True)


def _print_uncited(answer: Answer, passages: Sequence[Passage]) -> None:
    """Print the passages that the model got but did not cite."""
    cited = {passage.node_id for passage in answer.citations}
    if rest := [passage for passage in passages if passage.node_id not in cited]:
        say("read, but not cited:", dim=True)
    for passage in rest:
        say(f"    {passage.place}  {passage.node_id}", dim=True)


def _print_link(link: str) -> None:
    if link:
        say(f"    {link}", dim=True)


def _place(node: Node) -> str:
    names = ", ".join(node.documents[:NAMED_DOCUMENTS])
    hidden = len(node.documents) - NAMED_DOCUMENTS
    more = f" and {hidden} more" if hidden > 0 else ""
    where = f"summary of {len(node.children)} nodes of {names}{more}"
    if node.is_leaf:
        where = f"{node.documents[0]}[{node.start}:{node.end}]{format_pages(node.pages)}"
    return format_label(
        node.label, f"the top of {node.documents[0]}" if node.copied_node_id else where
    )


def _print_hits(retrieval: Retrieval, link_of: LinkOf) -> None:
    for rank, hit in enumerate(retrieval.hits, 1):
        kind = "chunk" if hit.node.is_leaf else f"layer {hit.node.layer}"
        say(f"{rank:>2}. {hit.score:.3f}  {kind:<8} {_place(hit.node)}", fg="cyan")
        say(f"    {hit.node.id}", dim=True)
        _print_link(link_of(hit.node))
        say(f"    {shorten(hit.node.text)}")
    tokens = f"{retrieval.n_tokens} of {retrieval.query.budget_tokens} tokens"
    say(f"{len(retrieval.hits)} nodes, {tokens}", dim=True)
    if retrieval.kind:
        say(f"{retrieval.kind} question: it {retrieval.reason}", dim=True)
    _print_note(retrieval)


def _print_note(retrieval: Retrieval) -> None:
    if retrieval.note:
        say(retrieval.note, fg="yellow", err=True)
