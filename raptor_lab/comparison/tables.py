"""Tables of results, printed on a terminal or as Markdown."""

from collections.abc import Mapping
from dataclasses import dataclass

from raptor_assets.cli.output import print_wide
from raptor_assets.shown.markdown import MarkdownCell, markdown_table
from raptor_core.evaluation.bootstrap import format_interval
from raptor_lab.comparison.compare import Comparison, ComparisonRow


@dataclass(frozen=True, slots=True)
class Table:
    """Table with a cell for each column of ``head`` in every row; ``note`` is below the title."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def table_markdown(table: Table) -> str:
    """Return a table of figures under its title; its cells are Markdown."""
    rows = [[MarkdownCell(cell.replace("|", "\\|")) for cell in row] for row in table.rows]
    figures = markdown_table([MarkdownCell(cell) for cell in table.head], rows)
    return "\n\n".join(filter(None, (f"## {table.title}", table.note, figures)))


def print_table(table: Table) -> None:
    """Print a table with its title above and its note below."""
    from rich.table import Table as RichTable

    shown = RichTable(
        title=table.title, caption=table.note, title_justify="left", caption_justify="left"
    )
    for name in table.head:
        shown.add_column(name, justify="right" if shown.columns else "left", no_wrap=True)
    for row in table.rows:
        shown.add_row(*row)
    print_wide(shown)


_HEAD = ("strategy", "budget", "tokens", "questions", "mean", "difference", "p", "nodes by layer")


def comparison_tables(comparison: Comparison, kind: str = "") -> list[Table]:
    """Make a table for each measure; ``kind`` is the kind of the questions, if they have one."""
    name = f"{comparison.dataset}, {kind}" if kind else comparison.dataset
    return [
        Table(
            f"{name}: {measure.replace('_', ' ')}",
            _HEAD,
            tuple(
                _to_table_row(line, measure) for line in comparison.rows if measure in line.figures
            ),
            comparison.measure_meanings[measure],
        )
        for measure in comparison.measures
    ]


def reader_tables(comparisons: Mapping[str, Comparison]) -> list[Table]:
    """Make a table for each measure, with strategies by readers as in Table 3 of the paper."""
    columns = {
        f"{reader}, {budget:,} tokens": comparison.rows_at_budget(budget)
        for reader, comparison in comparisons.items()
        for budget in comparison.budgets
    }
    first = next(iter(comparisons.values()))
    return [
        Table(
            f"{first.dataset}: {measure.replace('_', ' ')} by reader",
            ("strategy", *columns),
            tuple(
                (
                    name,
                    *(
                        format_interval(rows[name].figures[measure].mean)
                        for rows in columns.values()
                    ),
                )
                for name in first.rows_at_budget(first.budgets[0])
            ),
            first.measure_meanings[measure],
        )
        for measure in first.measures
    ]


def _to_table_row(line: ComparisonRow, measure: str) -> tuple[str, ...]:
    figure = line.figures[measure]
    difference = figure.difference
    return (
        line.system,
        f"{line.budget_tokens:,}",
        f"{line.mean_tokens:,.0f}",
        str(figure.n_questions),
        format_interval(figure.mean),
        "" if difference is None else format_interval(difference.interval, "+"),
        "" if difference is None else f"{difference.p_value:.3f}",
        ", ".join(f"{layer}: {share:.0%}" for layer, share in line.layers.items()),
    )
