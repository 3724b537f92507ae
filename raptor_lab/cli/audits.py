"""Commands that measure judges (`raptor eval audit`) and serve manual studies of summaries."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from raptor_assets.cli.options import home_and_json, open_home_and_settings
from raptor_assets.cli.output import print_json
from raptor_assets.home.folder import Home
from raptor_assets.shown.terminal import say
from raptor_core.audit import make_judge
from raptor_core.audit.base import Judge, SentenceFinding
from raptor_core.errors import UnknownTreeError
from raptor_core.evaluation.bootstrap import format_interval
from raptor_core.evaluation.golden_file import load_golden
from raptor_core.home.published import open_published
from raptor_core.models.money.ledger import Ledger
from raptor_core.nodes import group_nodes
from raptor_core.tree.components import Components
from raptor_lab import sheet
from raptor_lab.cli.reader import make_reader, open_answer_cache, reader_option
from raptor_lab.comparison.compare import Comparison
from raptor_lab.comparison.tables import Table, comparison_tables, print_table
from raptor_lab.effect import compare_without_nodes
from raptor_lab.labelled import DatasetScore, load_labelled, score_judge
from raptor_lab.readers import AnswerMeasurer

SPLIT = "documents whose hash is odd are reported, the others calibrate"


@click.command(epilog="\b\nExample:\n  raptor eval audit labelled/ --judge support")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--judge",
    "kind",
    type=click.Choice(["support", "llm", "local"]),
    help="Judge; by default the home's setting.",
)
@click.option("--model", help="Model of llm or local; by default the home's setting.")
@home_and_json
def audit_command(
    folder: Path, kind: str | None, model: str | None, home: Path, as_json: bool
) -> None:
    """Score a judge on labelled summaries, separately for each data set.

    FOLDER contains docs.jsonl (doc_id, text) and pairs.jsonl (pair_id, dataset, doc_id, claim,
    label: 1 if the document supports the claim, else 0). Half of the documents calibrate the judge,
    and the other half give the scores, with 95 % intervals by bootstrap over documents. The home's
    budget limits the calls.
    """
    labelled = load_labelled(folder)
    _, settings = open_home_and_settings(home, needed=False)
    chosen = {name: value for name, value in {"judge": kind, "model": model}.items() if value}
    settings = settings.model_copy(update={"audit": settings.audit.model_copy(update=chosen)})
    judge = make_judge(settings.audit, ledger=Ledger.from_settings(settings))
    scores = score_judge(labelled, judge)
    if as_json:
        values = {"judge": judge.name, "version": judge.version, "split": SPLIT}
        print_json({**values, "datasets": scores})
    else:
        _print_scores(judge, scores)


def _print_scores(judge: Judge, scores: Sequence[DatasetScore]) -> None:
    rows = []
    for score in scores:
        figures = (score.auc, score.balanced_accuracy, score.verdict_accuracy)
        left_out = f" (+{score.n_not_judged} not judged)" if score.n_not_judged else ""
        texts = (format_interval(figure) or "not defined" for figure in figures)
        rows.append((score.dataset, f"{score.n_pairs}{left_out}", *texts))
    head = ("data set", "pairs", "AUC", "balanced accuracy", "of its verdicts")
    print_table(Table(f"judge {judge.name} {judge.version}", head, tuple(rows), SPLIT))


@click.command(epilog="\b\nExample:\n  raptor eval sheet study/ --nodes 150 --trees 40 --seed 1")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    default=150,
    show_default=True,
    help="Maximum number of summaries.",
)
@click.option(
    "--trees",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Maximum number of trees.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@home_and_json
def sheet_command(
    folder: Path, nodes: int, trees: int, seed: int, home: Path, as_json: bool
) -> None:
    """Sample summaries for a manual study of hallucinations, and write a sheet into FOLDER.

    Write a verdict on each sentence into sheet.csv, which has a row for each sentence. Then run
    `raptor eval verdicts FOLDER`.
    """
    opened, settings = Home.open_with_settings(home)
    with open_published(opened, settings) as store:
        by_tree = group_nodes(store.nodes(), lambda node: node.tree)
    drawn = sheet.draw_sample(by_tree, nodes, trees, seed)
    if not drawn.nodes:
        raise UnknownTreeError("no published tree has a summary; build longer documents first")
    sheet.write_sheet(folder, drawn)
    n_sentences = sum(len(node.sentences) for node in drawn.nodes)
    if as_json:
        counts = {"nodes": len(drawn.nodes), "trees": drawn.n_trees, "sentences": n_sentences}
        print_json({"folder": str(folder), "seed": seed, "population": drawn.population, **counts})
        return
    say(
        f"drew {len(drawn.nodes)} of {drawn.population} summaries in {drawn.n_trees} trees, "
        f"{n_sentences} sentences: fill in {folder / sheet.SHEET}"
    )


PAPER = "paper: 6 of 150 (4 %), mostly added or extrapolated; no parent repeated one"


@click.command(epilog="\b\nExample:\n  raptor eval verdicts study/ --partly")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--partly", is_flag=True, help="Accept sentences without a verdict.")
@click.option(
    "--questions",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Golden set; the home's trees are searched with and without nodes that hallucinate.",
)
@reader_option("With --questions, compare answers instead of contexts: ")
@home_and_json
def verdicts_command(
    folder: Path,
    partly: bool,
    questions: Path | None,
    reader: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Print the results of a manual study.

    The results describe the sampled nodes, also after later builds. Only --questions needs a home.
    """
    drawn = sheet.read_sample(folder)
    verdicts = sheet.read_verdicts(folder / sheet.SHEET, drawn, partly=partly)
    figures = sheet.compute_study_figures(drawn, verdicts)
    findings = sheet.sheet_findings(drawn, verdicts)
    effect = _compare_without_bad_nodes(home, findings, questions, reader) if questions else None
    if as_json:
        counts = {**asdict(figures), "share": figures.share}
        counts |= {"effect": effect.to_json_values()} if effect else {}
        print_json({**counts, "findings": findings})
    else:
        _print_study_figures(figures)
        for table in comparison_tables(effect) if effect else ():
            print_table(table)


def _compare_without_bad_nodes(
    home: Path, findings: Sequence[SentenceFinding], questions: Path, reader: str | None
) -> Comparison:
    """Compare contexts, or a model's answers, with and without the hallucinating nodes."""
    opened, settings = Home.open_with_settings(home)
    components = Components(settings)
    wrong = {finding.node_id for finding in findings if finding.judgement == "unsupported"}
    measurer = None
    if reader:
        made = make_reader(settings.reader, Ledger.from_settings(settings), reader)
        measurer = AnswerMeasurer("study", made, open_answer_cache(opened.path / "evaluation"))
    with open_published(opened, settings, components.store_identity) as store:
        return compare_without_nodes(store, components, load_golden(questions), wrong, measurer)


def _print_study_figures(figures: sheet.StudyFigures) -> None:
    say(
        f"{figures.n_hallucinating} of {figures.n_nodes} nodes contain a hallucination: "
        f"{figures.share:.1%} [{figures.low:.1%}, {figures.high:.1%}]"
    )
    kinds = ", ".join(f"{n} {kind}" for kind, n in figures.kinds.items())
    say(f"sentences: {kinds}")
    say(f"a parent repeats {figures.n_repeated} of the {figures.n_traceable} that can be traced")
    say(PAPER, dim=True)
