"""`raptor curate`."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import click

from dagster_project.cli.options import add_options, home_and_json
from dagster_project.cli.output import print_json
from dagster_project.curating import Author, Curator
from raptor_core.curation import Decision

_AUTHOR = (
    click.option("--who", help="Who decides; the name of the system's user by default."),
    click.option("--why", default="", help="The reason, for those who read it later."),
)


def _example(arguments: str) -> str:
    return f"\b\nExample:\n  raptor curate {arguments}"


@click.group("curate", epilog=_example("correct NODE --text 'It was 1872.'"))
def command() -> None:
    """Set texts aside, correct or pin summaries, mark findings.

    A decision is recorded beside the tables, and changes nothing that is published. `raptor plan`
    says what honouring it costs; the next build does. `raptor tree TREE --ids` and the report show
    the ids of nodes.
    """


def _deciding(function: Any) -> Any:
    return add_options(_AUTHOR, home_and_json(function))


@command.command("set-aside", epilog=_example("set-aside guides/old.md --why 'replaced in May'"))
@click.argument("subject", metavar="NODE|DOCUMENT")
@_deciding
def set_aside(subject: str, who: str | None, why: str, home: Path, as_json: bool) -> None:
    """Leave a chunk, by its node's id, or a whole document out of the trees."""
    import uuid

    curator, author = _curator(home, who, why)
    try:
        uuid.UUID(subject)
    except ValueError:
        _show(curator.set_document_aside(subject, author), as_json)
    else:
        _show(curator.set_chunk_aside(subject, author), as_json)


@command.command(epilog=_example("correct NODE --text 'It was 1872.'"))
@click.argument("node")
@click.option("--text", help="The whole new text.")
@click.option("--file", type=click.File(encoding="utf-8"), help="A file that holds it; - reads it.")
@_deciding
def correct(
    node: str, text: str | None, file: Any, who: str | None, why: str, home: Path, as_json: bool
) -> None:
    """Give a summary another text, for as long as it summarizes the same nodes."""
    if (text is None) == (file is None):
        raise click.UsageError("give the new text by --text or by --file")
    curator, author = _curator(home, who, why)
    _show(curator.correct(node, file.read() if text is None else text, author), as_json)


@command.command(epilog=_example("pin NODE --why 'approved by the board'"))
@click.argument("node")
@_deciding
def pin(node: str, who: str | None, why: str, home: Path, as_json: bool) -> None:
    """Keep a summary as it is, whatever changes below it, while its cluster is there."""
    curator, author = _curator(home, who, why)
    _show(curator.pin(node, author), as_json)


@command.command(epilog=_example("mark NODE 'It was 1872.' wrong"))
@click.argument("node")
@click.argument("sentence")
@click.argument("value", type=click.Choice(["right", "wrong"]))
@_deciding
def mark(
    node: str, sentence: str, value: str, who: str | None, why: str, home: Path, as_json: bool
) -> None:
    """Say whether an audit was right that nothing supports a SENTENCE of a summary."""
    curator, author = _curator(home, who, why)
    _show(curator.mark(node, sentence, value, author), as_json)


@command.command(epilog=_example("undo DECISION --why 'it was right'"))
@click.argument("decision")
@_deciding
def undo(decision: str, who: str | None, why: str, home: Path, as_json: bool) -> None:
    """Take a DECISION back, by its id."""
    curator, author = _curator(home, who, why)
    found = curator.take_back(decision, author)
    if as_json:
        _show(found, as_json)
    else:
        click.echo(f"taken back: {_told(found)}")


@command.command("list", epilog=_example("list --all"))
@click.option("--all", "everything", is_flag=True, help="Those that were taken back, too.")
@home_and_json
def list_(everything: bool, home: Path, as_json: bool) -> None:
    """List the decisions, oldest first."""
    from dataclasses import asdict

    found = [d for d in Curator(home).decisions() if everything or not d.undone]
    if as_json:
        print_json({"decisions": [asdict(decision) for decision in found]})
        return
    for decision in found:
        click.secho(f"{decision.id}  {_told(decision)}", fg="cyan", dim=bool(decision.undone))
        click.echo(f"    by {decision.who} on {decision.when}", nl=False)
        click.echo(f": {decision.why}" if decision.why else "")
        if decision.kind in ("summary", "pin"):
            click.echo(f"    now: {decision.value}")
        if decision.undone:
            click.echo(f"    taken back {decision.undone}")
    if not found:
        click.echo("nothing was decided")


_WORDS = {
    "document": "set aside the document",
    "chunk": "set aside the chunk",
    "summary": "corrected the summary",
    "pin": "pinned the summary",
    "finding": "marked",
}


def _told(decision: Decision) -> str:
    marked = f" as {decision.value}" if decision.kind == "finding" else ""
    return f"{decision.tree}: {_WORDS[decision.kind]}{marked}: {decision.about}"


def _curator(home: Path, who: str | None, why: str) -> Any:

    return Curator(home), Author(getpass.getuser() if who is None else who, why)


def _show(decision: Decision, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json(asdict(decision))
    else:
        click.echo(_told(decision))
        click.secho(
            f"decision {decision.id}; `raptor plan` says what the next build makes of it", dim=True
        )
