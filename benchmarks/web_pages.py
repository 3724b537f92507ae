"""Words of the content that reading a web page loses, and words around it that are left.

    python benchmarks/web_pages.py FOLDER --content "//div[@role='main']" --without "//footer"

The content is what an XPath of the maker's own markup names, without the elements of another,
and without scripts and controls. Of each way to read, over the same pages in turn:

    lost      words of the content that are not in the text, and their share
    left      words of the text that are not in the content, as a share of its words
    half      pages that lose more than half of their words
    time      CPU seconds, relative to the first way

trafilatura is measured where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from lxml import html

from raptor_core.documents.formats.html import parse_html

_WORD = re.compile(r"\w+")
_CONTROLS = "//script|//style|//noscript|//svg|//button|//select|//textarea|//title|//template"
_APART = (
    *("p", "div", "li", "td", "th", "tr", "dt", "dd", "pre", "br", "h1", "h2", "h3", "h4", "h5"),
    *("h6", "table", "ul", "ol", "dl", "section", "hr", "caption"),
)


def _by_trafilatura(data: bytes) -> str:
    import trafilatura

    page = data.decode("utf-8", "replace")
    return trafilatura.extract(page, include_comments=False, favor_recall=True) or ""


WAYS: dict[str, Callable[[bytes], str]] = {
    "content": lambda data: parse_html(data).text,
    "whole page": lambda data: parse_html(data, is_whole=True).text,
}
if importlib.util.find_spec("trafilatura"):
    WAYS["trafilatura"] = _by_trafilatura


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _content(data: bytes, content: str, without: str) -> Counter[str]:
    """Words of the content; none where the page has none."""
    page = html.document_fromstring(data, parser=html.HTMLParser(encoding="utf-8"))
    for element in page.xpath(f"{_CONTROLS}|{without}" if without else _CONTROLS):
        element.drop_tree()
    words: Counter[str] = Counter()
    for root in page.xpath(content):
        for element in root.iter(*_APART):
            element.text, element.tail = f" {element.text or ''}", f" {element.tail or ''}"
        words += _words(root.text_content())
    return words


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--content", required=True)
    parser.add_argument("--without", default="")
    parser.add_argument("--pages", type=int, default=150)
    given = parser.parse_args()
    paths = sorted(given.folder.rglob("*.html"))
    random.Random(0).shuffle(paths)
    n_words = n_pages = 0
    found = {way: [0, 0, 0, 0.0] for way in WAYS}
    for path in paths[: given.pages]:
        data = path.read_bytes()
        wanted = _content(data, given.content, given.without)
        n_words, n_pages = n_words + wanted.total(), n_pages + bool(wanted)
        for way, read in WAYS.items() if wanted else ():
            began = time.process_time()
            got = _words(read(data))
            lost = (wanted - got).total()
            halved = lost > wanted.total() / 2
            spent = time.process_time() - began
            for place, value in enumerate((lost, (got - wanted).total(), halved, spent)):
                found[way][place] += value
    print(f"{n_pages} pages, {n_words:,} words")
    base = next(iter(found.values()))[3]
    for way, (lost, left, halved, spent) in found.items():
        shares = f"lost {lost:,} ({lost / n_words:.2%}), left {left / n_words:.2%}"
        print(f"{way:12} {shares}, half {halved}, time {spent / base:.1f}")


if __name__ == "__main__":
    main()
