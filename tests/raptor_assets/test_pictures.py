"""Pictures and tables for metadata: small, the same every time, and safe to show."""

import base64

from raptor_assets.plots import distribution_png, png_markdown
from raptor_assets.tables_markdown import markdown_table

SIZES = [2, 4, 5, 6, 6, 7, 8, 11]
RATIOS = [0.2, 0.25, 0.28, 0.3, 0.31, 0.33, 0.4, 0.5]


def test_a_picture_is_a_small_png_and_the_same_every_time():
    picture = distribution_png(SIZES, RATIOS)
    assert picture.startswith(b"\x89PNG\r\n")
    assert len(picture) < 30_000
    assert distribution_png(SIZES, RATIOS) == picture
    assert distribution_png([*SIZES, 30], RATIOS) != picture


def test_a_picture_stands_in_markdown():
    picture = distribution_png(SIZES, RATIOS)
    text = png_markdown(picture, "sizes")
    assert text.startswith("![sizes](data:image/png;base64,")
    assert base64.b64decode(text.split(",", 1)[1].rstrip(")")) == picture


def test_cells_cannot_break_the_table_or_bring_markup():
    text = markdown_table(("tree", "text"), [("a|b", "<script>alert(1)</script>\nnext | line")])
    assert len(text.strip().splitlines()) == 3
    assert "<script>" not in text
    assert text.strip().splitlines()[2].replace("\\|", "").count("|") == 3
