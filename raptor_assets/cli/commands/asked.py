"""Questions that servers kept: `raptor questions`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from raptor_assets.assets.names import counted
from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.home.question_log import QuestionLog
from raptor_assets.shown.terminal import say, say_json
from raptor_core.evaluation.asked import AskedQuestion, group_alike
from raptor_core.tree.components import Components


@click.command("questions", epilog="\b\nExample:\n  raptor questions --golden >> todo.jsonl")
@click.option("--all", "everything", is_flag=True, help="Also questions that were answered.")
@click.option("--golden", is_flag=True, help="Print lines for a golden set, to be completed.")
@home_and_json
def questions_command(everything: bool, golden: bool, home: Path, as_json: bool) -> None:
    """List kept questions that nothing answered, or whose answer got a vote against it.

    Servers keep questions if serving.questions is set. Like questions form a group. A line for a
    golden set has no "expected" yet: name the documents that answer the question.
    """
    opened, settings = Home.open(home)
    asked = QuestionLog.of(opened.path, settings).read()
    chosen = [each for each in asked if everything or each.is_unanswered or each.vote < 0]
    groups = group_alike(chosen, Components(settings).embedder) if chosen else []
    if golden:
        for group in groups:
            say_json(json.dumps(_golden_line(group), ensure_ascii=False))
    elif as_json:
        print_json({"n_kept": len(asked), "groups": groups})
    else:
        _print(groups)
        say(f"{counted(len(chosen), 'question')} of {len(asked)} kept", dim=True)


def _golden_line(group: Sequence[AskedQuestion]) -> dict[str, Any]:
    return {"question": group[0].question, "expected": [], "note": _counts(group)}


def _counts(group: Sequence[AskedQuestion]) -> str:
    n_unanswered = sum(question.is_unanswered for question in group)
    n_down = sum(question.vote < 0 for question in group)
    parts = [f"asked {counted(len(group), 'time')}"]
    parts += [f"{n_unanswered} unanswered"] if n_unanswered else []
    parts += [f"{counted(n_down, 'vote')} against"] if n_down else []
    return ", ".join(parts)


def _print(groups: Sequence[Sequence[AskedQuestion]]) -> None:
    for group in groups:
        say(f"{group[0].question}  ({_counts(group)})", fg="cyan")
        for each in group:
            vote = {1: "good", -1: "bad"}.get(each.vote, "no vote")
            where = f"{each.asked_at[:16]}  {each.corpus}  {each.caller or 'no name'}"
            found = f"{counted(each.n_hits, 'hit')}, {each.seconds:.1f} s, {vote}"
            say(f"    {where}  {found}: {each.question}")
            say(f"    {each.id}  {each.note}", dim=True)
