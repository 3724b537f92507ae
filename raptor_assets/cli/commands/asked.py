"""Questions that servers kept: `raptor questions`."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.home.question_log import QuestionLog
from raptor_assets.shown.terminal import say, say_json
from raptor_core.evaluation.asked import AskedQuestion, group_similar_questions
from raptor_core.tree.components import Components


@click.command("questions", epilog="\b\nExample:\n  raptor questions --golden >> todo.jsonl")
@click.option("--all", "everything", is_flag=True, help="Also list questions that were answered.")
@click.option("--golden", is_flag=True, help="Print lines for a golden set.")
@home_and_json
def questions_command(everything: bool, golden: bool, home: Path, as_json: bool) -> None:
    """List kept questions that are unanswered, or whose answer got a negative vote.

    Servers keep questions if serving.questions is set. Similar questions form a group. Before you
    use a line in a golden set, add the documents that answer the question ("expected").
    """
    opened, settings = Home.open_with_settings(home)
    asked = QuestionLog(opened.path, settings).read()
    chosen = [each for each in asked if everything or each.is_unanswered or each.vote < 0]
    groups = group_similar_questions(chosen, Components(settings).embedder) if chosen else []
    if as_json:
        print_json({"n_kept": len(asked), "groups": groups})
        return
    for group in groups:
        text, note = group[0].question, _counts(group)
        if golden:
            line = {"question": text, "expected": [], "note": note}
            say_json(json.dumps(line, ensure_ascii=False))
            continue
        say(f"{text}  ({note})", fg="cyan")
        for each in group:
            vote = {1: ", good", -1: ", bad"}.get(each.vote, "")
            found = f"{each.n_hits} hits, {each.seconds:.1f} s{vote}: {each.question}"
            say(f"    {each.asked_at[:16]}  {each.corpus}  {each.caller}  {found}")
            say(f"    {each.id}  {each.note}", dim=True)
    if not golden:
        say(f"{len(chosen)} of {len(asked)} kept questions", dim=True)


def _counts(group: Sequence[AskedQuestion]) -> str:
    n_unanswered = sum(question.is_unanswered for question in group)
    n_down = sum(question.vote < 0 for question in group)
    return f"asked {len(group)}, unanswered {n_unanswered}, votes against {n_down}"
