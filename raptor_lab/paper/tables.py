"""Tables of measurements in the order of the paper, followed by the tables of the paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from statistics import mean

import numpy as np

from raptor_core.evaluation.bootstrap import format_interval
from raptor_lab.comparison.compare import (
    Comparison,
    ComparisonRow,
    restrict_to_questions,
    split_by_kind,
)
from raptor_lab.comparison.index import TreeStatistics
from raptor_lab.comparison.tables import Table
from raptor_lab.paper.study import WITH_TREE, Study, TokenPoint, fit_line, name_of_layer_search

# Tables of the paper (Sarthi et al. 2024, arXiv:2401.18059) by number; shares are in percent.
ANSWERS: Mapping[str, tuple[int, ...]] = {
    "qasper": (2, 3, 5),
    "quality": (2, 4, 7, 9),
    "narrativeqa": (1, 6),
}

LAYERS = (8, 14, 15, 16, 17)  # accuracy by start layer and number of layers, of single stories

SHARES = (18, 19, 20, 21)
COMPRESSION = 10
_NOTES = dict.fromkeys(SHARES, "Share of the nodes that the collapsed tree retrieved, in percent.")
_NOTES[COMPRESSION] = "Summaries by gpt-3.5-turbo."
_READ = "Scores of answers, in percent, from the paper."


def tables_of_the_paper(*numbers: int) -> list[Table]:
    """Return the paper's tables of these numbers."""
    return [_read_tables_of_the_paper()[number] for number in numbers]


@cache
def _read_tables_of_the_paper() -> Mapping[int, Table]:
    """Read ``published.txt``: title, head and rows of each table, with "|" between cells."""
    text = Path(__file__).with_name("published.txt").read_text(encoding="utf-8")
    tables = {}
    for block in text.rstrip("\n").split("\n\n"):
        title, *lines = block.split("\n")
        number = int(title.removeprefix("Table ").partition(":")[0])
        head, *rows = (tuple(map(str.strip, line.split("|"))) for line in lines)
        tables[number] = Table(f"Paper, {title}", head, tuple(rows), _NOTES.get(number, _READ))
    return tables


MEANING = {
    "flat": "embedder (SBERT)",
    "lexical": "BM25",
    "document": "the document from its beginning",
    "title-abstract": "title and abstract",
    "collapsed": "embedder, collapsed tree",
    "collapsed-lexical": "BM25, collapsed tree",
    "traversal": "embedder, tree traversal",
    "hybrid": "all signals of the tree",
    "root": "top layer",
    "dpr": "DPR",
    "collapsed-dpr": "DPR, collapsed tree",
}
"""Description of each strategy, in the words of the paper where it has it."""


def retriever_tables(study: Study) -> list[Table]:
    """Make a table for each measure, one by kind of question, and the paper's tables of answers."""
    tables = [_retriever_table(study, measure) for measure in study.retrievers.measures]
    kinds = {
        kind: comparison
        for kind, comparison in split_by_kind(study.retrievers).items()
        if study.first_measure in comparison.measures
    }
    tables += [_table_by_kind(study, kinds)] if len(kinds) > 1 else []
    return tables + tables_of_the_paper(*ANSWERS.get(study.name, ()))


def _retriever_table(study: Study, measure: str) -> Table:
    budgets = study.retrievers.budgets
    lines = [study.retrievers.rows_at_budget(budget) for budget in budgets]
    meaning = study.retrievers.measure_meanings[measure]
    head = [f"{budget:,} tokens" + more for budget in budgets for more in ("", ": against flat")]
    rows = (
        (
            system,
            MEANING.get(system.partition(",")[0], system),
            _uses_tree_cell(system),
            *_measure_cells([of[system] for of in lines], measure),
        )
        for system, line in lines[0].items()
        if measure in line.figures
    )
    return Table(
        title=f"{study.name}: {measure.replace('_', ' ')}",
        head=("strategy", "what it is", "tree", *head),
        rows=tuple(rows),
        note=(
            f"{meaning[0].upper()}{meaning[1:]}. {study.n_questions} questions "
            f"of {study.n_documents} documents; 95 % intervals over documents, differences paired."
        ),
    )


def _table_by_kind(study: Study, kinds: Mapping[str, Comparison]) -> Table:
    budget = max(study.retrievers.budgets)
    lines = {kind: comparison.rows_at_budget(budget) for kind, comparison in kinds.items()}
    counts = {
        kind: of["flat"].figures[study.first_measure].n_questions for kind, of in lines.items()
    }
    rows = (
        (
            system,
            *(
                format_interval(of[system].figures[study.first_measure].mean)
                for of in lines.values()
            ),
        )
        for system in study.retrievers.rows_at_budget(budget)
    )
    measure_name = study.first_measure.replace("_", " ")
    return Table(
        title=f"{study.name}: {measure_name} by kind, at {budget:,} tokens",
        head=("strategy", *(f"{kind} ({n})" for kind, n in counts.items())),
        rows=tuple(rows),
        note="Kinds of answers or questions as the data set has them; one may be of several.",
    )


def _uses_tree_cell(system: str) -> str:
    strategy, _, contiguous = system.partition(", ")
    if contiguous:
        return "contiguous"
    return "yes" if strategy in (*WITH_TREE, "collapsed-dpr") else "no"


def _measure_cells(lines: Sequence[ComparisonRow], measure: str) -> Iterator[str]:
    for line in lines:
        figure = line.figures[measure]
        yield format_interval(figure.mean)
        yield format_interval(figure.difference.interval, "+") if figure.difference else ""


_CURVE = (
    "Traversal takes the same number of nodes on each layer and has no budget. The paper draws "
    "the F1 of answers on 20 papers of QASPER; there the collapsed tree is above traversal at "
    "every length, and best at 2,000 tokens."
)


def score_by_length_tables(studies: Sequence[Study]) -> list[Table]:
    """Make a table for each data set that has a measure."""
    tables = []
    for study in studies:
        if measure := study.curve_measure.replace("_", " "):
            title = f"{study.name}: {measure} by length of the context"
            head = ("strategy", "at the most", "tokens of a context", measure)
            tables.append(Table(title, head, tuple(_curve_rows(study)), _CURVE))
    return tables


def _curve_rows(study: Study) -> Iterator[tuple[str, ...]]:
    for line in study.curve_rows:
        strategy, _, top_k = line.system.partition(":")
        bound = f"{top_k} nodes of a layer" if top_k else f"{line.budget_tokens:,} tokens"
        figure = line.figures[study.curve_measure]
        yield strategy, bound, f"{line.mean_tokens:,.0f}", format_interval(figure.mean)


SPREAD = ("collapsed", "collapsed-lexical", "collapsed-dpr", "traversal", "hybrid")
"""Strategies that retrieve nodes of several layers."""
N_SINGLE = 5  # documents with a separate table, as in the paper


def layer_tables(studies: Sequence[Study]) -> list[Table]:
    """Make tables of start layer by number of layers for each data set, budget and top document."""
    measured = [study for study in studies if study.first_measure]
    tables = []
    for study in measured:
        for budget in study.layer_subsets.budgets:
            title = f"{study.name}: {study.first_measure.replace('_', ' ')} at {budget:,} tokens"
            tables.append(_layer_subset_table(study, study.layer_subsets, budget, title))
    tables += [table for study in measured for table in _per_document_tables(study)]
    return tables + tables_of_the_paper(*LAYERS)


def layer_share_tables(studies: Sequence[Study]) -> list[Table]:
    """Make a table of nodes by layer for each data set, and the paper's."""
    return [*map(_share_table, studies), *tables_of_the_paper(*SHARES)]


def _per_document_tables(study: Study) -> Iterator[Table]:
    budget = max(study.layer_subsets.budgets)
    by_document: dict[str, set[str]] = {}
    for item in study.layer_subsets.scores:
        if item.question.document and study.first_measure in item.measures:
            by_document.setdefault(item.question.document, set()).add(item.question.id)
    ranked = sorted(by_document.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    for document, questions in ranked[:N_SINGLE] if len(by_document) > 1 else ():
        name = study.titles.get(document, document)
        title = f"{study.name}, {name}: {len(questions)} questions at {budget:,} tokens"
        yield _layer_subset_table(
            study, restrict_to_questions(study.layer_subsets, questions), budget, title
        )


def _layer_subset_table(study: Study, layers: Comparison, budget: int, title: str) -> Table:
    lines = layers.rows_at_budget(budget)
    alone = len({item.question.bootstrap_unit for item in layers.scores}) == 1  # has no interval
    starts = range(study.n_layers)
    rows = tuple(
        (
            str(queried),
            *(_layer_subset_cell(study, lines, start, queried, alone=alone) for start in starts),
        )
        for queried in range(1, study.n_layers + 1)
    )
    return Table(
        title=title,
        head=("layers queried", *(f"start layer {start}" for start in starts)),
        rows=rows,
        note="A search over the layers from the start layer down, as of the collapsed tree.",
    )


def _layer_subset_cell(
    study: Study, lines: dict[str, ComparisonRow], start: int, queried: int, *, alone: bool
) -> str:
    line = lines.get(name_of_layer_search(start, queried)) if queried <= start + 1 else None
    figure = line.figures.get(study.first_measure) if line else None
    if figure is None:
        return ""
    return f"{figure.mean.value:.3f}" if alone else format_interval(figure.mean)


def _share_table(study: Study) -> Table:
    layers = range(study.n_layers)
    rows = tuple(
        (
            line.system,
            f"{line.budget_tokens:,}",
            *(f"{100 * line.layers.get(layer, 0.0):.1f}" for layer in layers),
            f"{100 * (1 - line.layers.get(0, 0.0)):.1f}",
        )
        for line in study.retrievers.rows
        if line.system in SPREAD and line.layers
    )
    return Table(
        title=f"{study.name}: nodes of a context by layer, in percent",
        head=("strategy", "tokens", *(f"layer {layer}" for layer in layers), "no leaves"),
        rows=rows,
        note="Mean over the questions. The paper finds 18 to 57 % that are no leaves.",
    )


_SIZES = (
    *("data set", "trees", "nodes by layer", "tokens of a summary", "tokens of a child"),
    *("children per summary", "ratio"),
)


def compression_tables(studies: Sequence[Study]) -> list[Table]:
    """Make the table of sizes of trees, and the paper's."""
    rows = []
    for study in studies:
        rows.append(_size_row(study.name, study.tree_statistics))
        if study.contiguous_trees:
            rows.append(_size_row(f"{study.name}, contiguous", study.contiguous_trees))
    if len(studies) > 1:
        rows.append(
            _size_row(
                "all together", _combine_statistics([study.tree_statistics for study in studies])
            )
        )
    note = "Tokens are the embedder's own or tiktoken's, as the settings say (tokens.counter)."
    return [
        Table("Compression of the trees", _SIZES, tuple(rows), note),
        *tables_of_the_paper(COMPRESSION),
    ]


def _combine_statistics(trees: Sequence[TreeStatistics]) -> TreeStatistics:
    """Combine the statistics of several indexes; every summary has the same weight."""
    layers = [part.nodes_by_layer for part in trees]
    summaries = [sum(sizes[1:]) for sizes in layers]
    children = [n * part.mean_children for n, part in zip(summaries, trees, strict=True)]
    return TreeStatistics(
        n_trees=sum(part.n_trees for part in trees),
        nodes_by_layer=tuple(map(sum, zip_longest(*layers, fillvalue=0))),
        mean_children=_weighted_mean([part.mean_children for part in trees], summaries),
        mean_summary_tokens=_weighted_mean([part.mean_summary_tokens for part in trees], summaries),
        mean_child_tokens=_weighted_mean([part.mean_child_tokens for part in trees], children),
        mean_ratio=_weighted_mean([part.mean_ratio for part in trees], summaries),
    )


def _weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total else 0.0


def _size_row(name: str, trees: TreeStatistics) -> tuple[str, ...]:
    return (
        name,
        f"{trees.n_trees:,}",
        " → ".join(f"{n:,}" for n in trees.nodes_by_layer),
        f"{trees.mean_summary_tokens:.1f}",
        f"{trees.mean_child_tokens:.1f}",
        f"{trees.mean_children:.1f}",
        f"{trees.mean_ratio:.2f}",
    )


MAX_ROWS = 12  # more trees are grouped into as many rows

_LINES = (
    "The paper draws both without a number (Figures 5 and 6): straight lines on all data sets, "
    "seconds up to 80,000 tokens, with gpt-3.5-turbo."
)
_TOKENS = (
    "What a chat endpoint would be asked and would answer for all summaries of a document's tree, "
    "by the tree's own token counter; extracted sentences stand for answers where no model is "
    "asked. Means of documents of like length where there are many."
)
_SECONDS = (
    "Prefixes of the longest document, each built from scratch in this process with its models "
    "loaded. Seconds are of the processor, over all threads; they depend on the machine."
)


def scaling_tables(studies: Sequence[Study]) -> list[Table]:
    """Make a table of fitted lines, and tables of the points of each data set."""
    rows = tuple(chain.from_iterable(map(_fitted_line_rows, studies)))
    head = ("data set", "what", "points", "for each 1,000 tokens of the document", "R²")
    tables = [Table("Straight lines", head, rows, _LINES)]
    for study in studies:
        tables.append(_token_table(study))
        if study.time_points:
            tables.append(_time_table(study))
    return tables


def _fitted_line_rows(study: Study) -> Iterator[tuple[str, ...]]:
    prompts = [point.prompt_tokens for point in study.token_points]
    completions = [point.completion_tokens for point in study.token_points]
    measured: dict[str, Sequence[float]] = {
        "prompt tokens": prompts,
        "completion tokens": completions,
        "all tokens": [a + b for a, b in zip(prompts, completions, strict=True)],
        "seconds": [point.seconds for point in study.time_points],
    }
    for quantity, values in measured.items():
        points, digits = (
            (study.time_points, 3) if quantity == "seconds" else (study.token_points, 0)
        )
        slope = fit_line([point.document_tokens for point in points], values)
        rise = f"{slope.per_thousand_tokens:,.{digits}f}" if slope else ""
        if values:
            explained = f"{slope.r_squared:.3f}" if slope else ""
            yield study.name, quantity, str(len(values)), rise, explained


def _token_table(study: Study) -> Table:
    groups = np.array_split(
        np.arange(len(study.token_points)), min(MAX_ROWS, len(study.token_points))
    )
    rows = tuple(_token_row([study.token_points[at] for at in group]) for group in groups)
    title = f"{study.name}: tokens of a build (Figure 5)"
    head = ("documents", "tokens of a document", "prompt", "completion", "together")
    return Table(title, head, rows, _TOKENS)


def _token_row(points: Sequence[TokenPoint]) -> tuple[str, ...]:
    length, prompt, completion = map(mean, zip(*map(astuple, points), strict=True))
    means = (length, prompt, completion, prompt + completion)
    return (str(len(points)), *(f"{value:,.0f}" for value in means))


def _time_table(study: Study) -> Table:
    measured = (
        (p.document_tokens, p.seconds, 1000 * p.seconds / p.document_tokens)
        for p in study.time_points
    )
    rows = tuple((f"{n:,}", f"{seconds:.2f}", f"{rate:.3f}") for n, seconds, rate in measured)
    head = ("tokens", "CPU seconds", "CPU seconds for each 1,000 tokens")
    return Table(f"{study.name}: seconds of a build (Figure 6)", head, rows, _SECONDS)
