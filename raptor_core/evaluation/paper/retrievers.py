"""Retrievers with and without the tree, as in Tables 1 to 4 and 9, by what contexts hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from raptor_core.evaluation.bootstrap import interval_text
from raptor_core.evaluation.compare import MEANINGS, Comparison, Line, by_kind
from raptor_core.evaluation.paper.published import ANSWERS
from raptor_core.evaluation.paper.study import WITH_TREE, Study
from raptor_core.evaluation.paper.table import Table

MEANING = {
    "flat": "embedder (SBERT)",
    "lexical": "BM25",
    "dpr": "DPR",
    "document": "the document from its beginning",
    "title-abstract": "title and abstract",
    "collapsed": "embedder, collapsed tree",
    "collapsed-lexical": "BM25, collapsed tree",
    "collapsed-dpr": "DPR, collapsed tree",
    "traversal": "embedder, tree traversal",
    "beam": "beam to the leaves",
    "hybrid": "all signals of the tree",
    "root": "top layer",
}
"""What a strategy stands for in the paper's tables, or is."""


def retriever_tables(study: Study) -> list[Table]:
    """A table for each measure of the data set, and the paper's tables of answers on it.

    The first measure is told by kind of question, too, where there are several.
    """
    tables = [_measured(study, measure) for measure in study.retrievers.measures]
    kinds = {
        kind: found
        for kind, found in by_kind(study.retrievers).items()
        if study.measure in found.measures
    }
    tables += [_by_kind(study, kinds)] if len(kinds) > 1 else []
    return tables + list(ANSWERS.get(study.name, ()))


def _measured(study: Study, measure: str) -> Table:
    budgets = list(dict.fromkeys(line.budget_tokens for line in study.retrievers.lines))
    systems = dict.fromkeys(line.system for line in study.retrievers.lines)
    lines = {(line.system, line.budget_tokens): line for line in study.retrievers.lines}
    head = [f"{budget:,} tokens" + more for budget in budgets for more in ("", ": against flat")]
    rows = (
        (
            system,
            _meaning(system),
            _tree(system),
            *_cells([lines[system, b] for b in budgets], measure),
        )
        for system in systems
        if measure in lines[system, budgets[0]].figures
    )
    return Table(
        title=f"{study.name}: {measure.replace('_', ' ')}",
        head=("strategy", "what it is", "tree", *head),
        rows=tuple(rows),
        note=f"{MEANINGS[measure][0].upper()}{MEANINGS[measure][1:]}. {_told_counts(study)}",
    )


def _by_kind(study: Study, kinds: Mapping[str, Comparison]) -> Table:
    budget = max(line.budget_tokens for line in study.retrievers.lines)
    lines = {
        kind: {line.system: line for line in found.lines if line.budget_tokens == budget}
        for kind, found in kinds.items()
    }
    counts = {
        kind: next(iter(of.values())).figures[study.measure].n_questions
        for kind, of in lines.items()
    }
    rows = (
        (
            system,
            *(interval_text(of[system].figures[study.measure].mean) for of in lines.values()),
        )
        for system in dict.fromkeys(line.system for line in study.retrievers.lines)
    )
    return Table(
        title=f"{study.name}: {study.measure.replace('_', ' ')} by kind, at {budget:,} tokens",
        head=("strategy", *(f"{kind} ({n})" for kind, n in counts.items())),
        rows=tuple(rows),
        note="Kinds of answers or questions as the data set has them; one may be of several.",
    )


def _told_counts(study: Study) -> str:
    return (
        f"{study.n_questions} questions of {study.n_documents} documents; 95 % intervals over "
        "documents, differences paired."
    )


def _meaning(system: str) -> str:
    return MEANING.get(system.partition(",")[0], system)


def _tree(system: str) -> str:
    strategy, _, contiguous = system.partition(", ")
    if contiguous:
        return "contiguous"
    return "yes" if strategy in (*WITH_TREE, "collapsed-dpr") else "no"


def _cells(lines: Sequence[Line], measure: str) -> Iterator[str]:
    for line in lines:
        figure = line.figures[measure]
        yield interval_text(figure.mean)
        yield interval_text(figure.difference.interval, "+") if figure.difference else ""
