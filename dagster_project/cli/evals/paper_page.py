"""The files of `raptor eval paper` as one page, which needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from raptor_core.evaluation.paper import Table

TITLE = "The RAPTOR paper, measured here"

_STYLE = """
:root { color-scheme: light dark; --text: #1d2430; --soft: #5b6472; --line: #d9dde4;
  --back: #fff; --band: #f5f6f8; --link: #2f57c4 }
@media (prefers-color-scheme: dark) { :root { --text: #e3e6eb; --soft: #a2abb8; --line: #333a45;
  --back: #14171c; --band: #1b1f26; --link: #8aa8ff } }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; color: var(--text);
  background: var(--back); font: 1rem/1.5 system-ui, sans-serif }
p, nav { max-width: 46rem } h2 { margin-top: 3rem } h3 { margin: 2rem 0 .3rem }
a { color: var(--link) } .note { color: var(--soft); margin: .2rem 0 .6rem }
.wide { overflow-x: auto } svg { display: block; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem; text-align: left; border-bottom: 1px solid var(--line);
  white-space: nowrap }
th { background: var(--band) }
"""


@dataclass(frozen=True)
class Section:
    """What one file holds.

    Attributes:
        file: its name.
        title: in words.
        of: the tables and figures of the paper that it stands for.
        given: tables; several data sets may share one of the paper's.
        pictures: SVG by the name of its file.
    """

    file: str
    title: str
    of: str
    given: Sequence[Table]
    pictures: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        """Each once, though several data sets share one of the paper's."""
        return list(dict.fromkeys(self.given))


def page(introduction: str, measured: Table, made: str, sections: Sequence[Section]) -> str:
    """All sections below one another, with a list of them on top."""
    links = (
        f'<li><a href="#{_anchor(one)}">{escape(one.title)}</a> ({escape(one.of)})</li>'
        for one in sections
    )
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{TITLE}</title><style>{_STYLE}</style></head><body><main><h1>{TITLE}</h1>",
        *(f"<p>{_inline(text)}</p>" for text in introduction.split("\n\n")),
        *_table(measured),
        f"<p>{escape(made)}</p><nav><ul>{''.join(links)}</ul></nav>",
        *(part for one in sections for part in _section(one)),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f'<h2 id="{_anchor(section)}">{escape(section.title)} ({escape(section.of)})</h2>'
    for svg in section.pictures.values():
        yield f'<div class="wide" tabindex="0">{svg}</div>'
    for table in section.tables:
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"<h3>{escape(table.title)}</h3>"
    if table.note:
        yield f'<p class="note">{escape(table.note)}</p>'
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    yield (
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _anchor(section: Section) -> str:
    return section.file.removesuffix(".md")


def _inline(markdown: str) -> str:
    """A paragraph with its `code` and **strong** words."""
    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(markdown))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", coded)
