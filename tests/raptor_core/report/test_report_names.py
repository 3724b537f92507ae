"""File names of reports are safe and distinct."""

import pytest

from raptor_core.identity import safe_name

NAMES = [
    "",
    ".",
    "..",
    "a/b",
    "a%2Fb",
    "a\\b",
    "../../etc/passwd",
    "guides/pumps.md",
    "手冊/泵.md",
    "überblick",
    " x",
    'a:b*c?d"e<f>g|h',
    "a\nb",
    "\ud800",
    "😀",
    "手" * 300,
    "手" * 301,
    "x" * 5000,
]


def test_every_name_has_a_file_of_its_own():
    assert len({safe_name(name) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_can_be_written_in_one_folder(tmp_path, name):
    path = tmp_path / f"{safe_name(name)}.html"
    path.write_text(name, encoding="utf-8", errors="surrogatepass")
    assert path.resolve().parent == tmp_path.resolve()
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert not path.name.startswith(".")
    assert not set('/\\:*?"<>|') & set(path.name)


def test_a_name_stays_readable():
    assert safe_name("guides/pumps.md") == "guides%2Fpumps.md"
    assert safe_name("手冊") == "手冊"
