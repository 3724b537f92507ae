"""Decisions on texts: `raptor curate`."""

import getpass
import re
import uuid
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TextIO

import click

from raptor_assets.cli.options import home_and_json, together
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.home.question_log import QuestionLog
from raptor_assets.local.curate import Author, Curator
from raptor_assets.shown.terminal import say, say_text
from raptor_core.curation import Decision

_author = together(
    click.option("--who", help="Your name; by default the name of the system's user."),
    click.option("--why", default="", help="The reason, for people who read it later."),
)

SPAN = re.compile(r"(.+):(\d+)-(\d+)")
"""Chunk given by its document and characters, as in the message of a failed summary."""

Opener = Callable[[], Curator]
"""Function that opens the home; called after the command line is validated."""


def _example(arguments: str) -> str:
    return f"\b\nExample:\n  raptor curate {arguments}"


@click.group("curate", epilog=_example("correct NODE --text 'It was 1872.'"))
def curate_command() -> None:
    """Set texts aside, correct summaries, and mark findings of audits.

    Each of these is a decision, which takes effect with the next build. `raptor plan` shows the
    cost of this build. `raptor tree TREE --ids` and the report show the ids of nodes.
    """


def user_name() -> str:
    """Return the name of the system's user; raise UsageError if it has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:  # OSError since Python 3.13
        raise click.UsageError(
            "the system has no name for this user; pass one with --who"
        ) from error


def _deciding(function: Callable[..., Decision]) -> Any:
    """Make a command that passes an opener and an author to a function and prints its decision."""

    @wraps(function)
    def decided(home: Path, who: str | None, why: str, as_json: bool, **values: Any) -> None:
        author = Author(user_name() if who is None else who, why)
        decision = function(lambda: Curator(home), author, **values)
        if as_json:
            print_json(decision)
        elif function.__name__ == "undo":
            say(f"undone: {_describe(decision)}")
        else:
            say(_describe(decision))
            say(f"decision {decision.id}; `raptor plan` shows its effect", dim=True)

    return _author(home_and_json(decided))


@curate_command.command(
    "set-aside", epilog=_example("set-aside guides/old.md --why 'replaced in May'")
)
@click.argument("subject", metavar="NODE|DOCUMENT:START-END|DOCUMENT")
@_deciding
def set_aside(open_curator: Opener, author: Author, subject: str) -> Decision:
    """Set a chunk or a document aside: remove its text from the trees.

    Name a chunk by the id of its node, or by its range of characters. The range also works if no
    tree is published, for example because a model refuses to summarize the chunk.
    """
    if span := SPAN.fullmatch(subject):
        document, start, end = span.groups()
        return open_curator().set_span_aside(document, int(start), int(end), author)
    try:
        uuid.UUID(subject)
    except ValueError:
        return open_curator().set_document_aside(subject, author)
    return open_curator().set_chunk_aside(subject, author)


@curate_command.command(epilog=_example("correct NODE --text 'It was 1872.'"))
@click.argument("node")
@click.option("--text", help="The full new text.")
@click.option(
    "--file",
    type=click.File(encoding="utf-8"),
    help="File with the new text; - reads standard input.",
)
@_deciding
def correct(
    open_curator: Opener, author: Author, node: str, text: str | None, file: TextIO | None
) -> Decision:
    """Replace the text of a summary, as long as the summary has the same children."""
    if (text is None) == (file is None):
        raise click.UsageError("give the new text by --text or by --file")
    return open_curator().correct(node, file.read() if file else str(text), author)


@curate_command.command(epilog=_example("mark NODE 'It was 1872.' wrong"))
@click.argument("node")
@click.argument("sentence")
@click.argument("value", type=click.Choice(["right", "wrong"]))
@_deciding
def mark(open_curator: Opener, author: Author, node: str, sentence: str, value: str) -> Decision:
    """Mark the finding of an audit on a SENTENCE of a summary as right or wrong."""
    return open_curator().mark(node, sentence, value, author)


@curate_command.command(epilog=_example("undo DECISION --why 'it was right'"))
@click.argument("decision")
@_deciding
def undo(open_curator: Opener, author: Author, decision: str) -> Decision:
    """Undo the decision with the id DECISION."""
    return open_curator().take_back(decision, author)


@curate_command.command("list", epilog=_example("list --all"))
@click.option("--all", "everything", is_flag=True, help="Also list decisions that were undone.")
@home_and_json
def list_(everything: bool, home: Path, as_json: bool) -> None:
    """List the decisions, oldest first."""
    decisions = [d for d in Curator(home).decisions() if everything or not d.undone]
    if as_json:
        print_json({"decisions": decisions})
        return
    for decision in decisions:
        say(f"{decision.id}  {_describe(decision)}", fg="cyan", dim=bool(decision.undone))
        why = f": {decision.why}" if decision.why else ""
        say(f"    by {decision.who} on {decision.when}{why}")
        if decision.kind == "summary":
            say_text(f"    now: {decision.value}", indent="    ")
        if decision.undone:
            say(f"    undone {decision.undone}")
    if not decisions:
        say("nothing was decided")


@curate_command.command("forget-questions", epilog=_example("forget-questions --caller ana"))
@click.argument("ids", nargs=-1)
@click.option(
    "--caller", default="", help="Delete the questions from the key or token with this name."
)
@click.option("--all", "everything", is_flag=True, help="Delete all kept questions.")
@home_and_json
def forget_questions(
    ids: tuple[str, ...], caller: str, everything: bool, home: Path, as_json: bool
) -> None:
    """Delete questions that servers kept: by their IDS, of a caller, or all."""
    if bool(ids or caller) == everything:
        raise click.UsageError("name the questions by IDS, --caller or --all")
    opened, settings = Home.open_with_settings(home)
    n_forgotten = QuestionLog(opened.path, settings).forget(ids, caller)
    print_json({"n_forgotten": n_forgotten}) if as_json else say(f"{n_forgotten} forgotten")


_WORDS = {
    "document": "set aside the document",
    "chunk": "set aside the chunk",
    "summary": "corrected the summary",
    "finding": "marked",
}


def _describe(decision: Decision) -> str:
    marked = f" as {decision.value}" if decision.kind == "finding" else ""
    return f"{decision.tree}: {_WORDS[decision.kind]}{marked}: {decision.about}"
