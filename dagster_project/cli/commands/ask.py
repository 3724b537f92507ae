"""`raptor ask`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dagster_project.cli.options import home_and_json, query_options

if TYPE_CHECKING:
    from raptor_core.errors import MissingKeyError
    from raptor_core.models.reading import Answer, Quote
    from raptor_core.retrieval import Retrieval


@click.command(epilog="\b\nExample:\n  raptor ask 'what did the two incidents have in common?'")
@click.argument("question")
@query_options
@home_and_json
def command(question: str, home: Path, as_json: bool, **values: Any) -> None:
    """Answer a question from the trees, with its sources.

    Needs a chat endpoint (settings [reader]). Without its key the context is shown with the
    sentences nearest to the question, what is missing is said, and the exit code is 7.
    """
    from dagster_project.cli.questions import make_query, require_words, why_nothing
    from raptor_assets.project.home import Home
    from raptor_core.errors import MissingKeyError, UnknownTreeError
    from raptor_core.home import HomeRetriever
    from raptor_core.models.reading import Passage, Reader, best_sentences
    from raptor_core.tree.components import Components

    require_words(question)
    _, settings = Home.open(home)
    components = Components(settings)
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


def _show_context(
    error: MissingKeyError, retrieval: Retrieval, quotes: list[Quote], *, as_json: bool
) -> NoReturn:
    from dagster_project.cli.exits import exit_code, fail
    from dagster_project.cli.output import print_hits, print_quotes, quote_values, retrieval_values

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
    from dagster_project.cli.output import passage_values, print_json, retrieval_values

    if as_json:
        citations = [passage_values(passage) for passage in answer.citations]
        print_json({"answer": answer.text, "citations": citations, **retrieval_values(retrieval)})
        return
    click.echo(answer.text)
    for number, passage in enumerate(answer.citations, 1):
        click.secho(f"[{number}] {passage.place}  {passage.node_id}", fg="cyan")
    if not answer.citations:
        click.secho("the answer cites no source", fg="yellow", err=True)
