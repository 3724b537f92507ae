"""Front matter of Markdown: YAML between ``---`` or TOML between ``+++``, which is not text.

If a file begins like front matter but it cannot be parsed, the document is rejected, because its
metadata may declare who may read it. ``read_front_matter`` states the rule.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, dropwhile, takewhile
from typing import Any, NamedTuple

from raptor_formats.base import READERS, MetadataScalar, MetadataValue, UnreadableError
from raptor_formats.declared import (
    declared_readers,
    object_from_pairs,
    resembles_readers_declaration,
)
from raptor_formats.metadata import clean_metadata, to_metadata_values
from raptor_formats.text import one_line

_LEAD = re.compile(r"(?:\s+|<!--.*?-->)*", re.DOTALL)
_COMMENT_ENDS = re.compile(r"\n|<!--|-->")
_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCES = ("---", "+++")
_KEY = re.compile(r"""[^\w#]*[\w.-]{1,64}["'\s]*[:=](?:\s|\Z)""")
_JSON_KEY = re.compile(r"""\{\s*["']?[\w.-]{1,64}["']?\s*:""")
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9]\d*)\.\d+\Z")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

HEAD_LINES, HEAD_CHARS = 50, 8000
"""Lines and characters at the beginning of a text that may be a declaration even if unclosed."""

_MAX_VALUES = 10_000
"""Maximum number of values in front matter, including those that an alias repeats."""


class FrontMatter(NamedTuple):
    """Values of front matter, the readers that it declares, and its end (0 if there is none)."""

    metadata: dict[str, MetadataValue]
    readers: tuple[str, ...] | None
    end: int


_NONE = FrontMatter({}, None, 0)


def read_front_matter(text: str) -> FrontMatter:
    """Parse the front matter of a text, which may follow blank lines and comments.

    Lists stay lists. A value in a nested table gets the key "table.key".

    A rule of dashes followed by prose is text. The following are metadata, and errors if they
    cannot
    be parsed:

    - lines between two lines ``---`` or ``+++``, or after an unclosed one, if a line of their first
      paragraph begins with a word and ":" or "=";
    - a text that begins with ``{``, a word and ":", like JSON;
    - lines that begin with a key like "readers": between ``---`` or ``+++``, soon after one that is
      never closed, in the first paragraph of a text or a comment before it, after a ``---`` near
      its beginning, or as a field such as ``:readers:``.

    Raises:
        UnreadableError: one of these cannot be parsed, or the readers are malformed.
    """
    start = _find_start(text)
    for pattern, load in ((_YAML, _load_yaml), (_TOML, _load_toml)):
        if block := pattern.match(text, start):
            values = _load_values(block[1], load)
            return _NONE if values is None else _to_front_matter(values, block)
    lines = _first_lines(text, start)
    if lines[0].strip() in _FENCES and _resembles_metadata(lines[1:]):
        raise _make_error(f"begins with {lines[0].strip()} and metadata, but no line closes it")
    if _JSON_KEY.match(text, start):
        raise _make_error("begins with metadata in JSON, which is not supported")
    refuse_readers_declaration(text)
    return _NONE


def refuse_readers_declaration(text: str) -> None:
    """Raise UnreadableError if a text without front matter begins with a declaration of readers."""
    start = _find_start(text)
    lines = _first_lines(text, start)
    _refuse_readers_declarations(_COMMENT_ENDS.split(text[: min(start, HEAD_CHARS)]))
    _refuse_readers_declarations([line for line in lines if line.startswith(":")])
    _refuse_readers_declarations(
        lines[1:] if lines[0].strip() in _FENCES else _first_paragraph(lines)
    )
    in_code = False
    for number, line in enumerate(lines):
        in_code ^= line.startswith(("```", "~~~"))
        if line.rstrip() in _FENCES and not in_code:
            _refuse_readers_declarations(_first_paragraph(lines[number + 1 :]))


def find_front_matter_end(text: str) -> int:
    """Return the length of the front matter of a text; 0 if it has none that can be parsed."""
    try:
        return read_front_matter(text).end
    except UnreadableError:
        return 0


def _load_values(text: str, load: Callable[[str], object]) -> Mapping[str, Any] | None:
    """Parse the values of a block; None if it is text, for instance between two rules of dashes."""
    problem, values = "is not a table of values", None
    try:
        values = load(text)
    except (ValueError, RecursionError) as error:
        problem = one_line(str(error))
    if isinstance(values, Mapping):
        return values
    if _resembles_metadata(text.split("\n")):
        raise _make_error(f"begins with metadata that cannot be read: {problem:.160}")
    return None


def _to_front_matter(values: Mapping[str, Any], block: re.Match[str]) -> FrontMatter:
    is_blank = READERS in values and values[READERS] is None
    readers = declared_readers({READERS: ""} if is_blank else values, nested=())
    if readers is None:
        _refuse_readers_declarations(_COMMENT_ENDS.split(block.string[: block.end()]))
        refuse_readers_declaration(block.string[block.end() :])
    fields = {key: value for key, value in values.items() if key != READERS}
    metadata = clean_metadata(to_metadata_values(dict(_flatten("", fields))))
    return FrontMatter(metadata, readers, block.end())


def _resembles_metadata(lines: Sequence[str]) -> bool:
    return any(map(_KEY.match, _first_paragraph(lines))) or any(
        map(resembles_readers_declaration, lines)
    )


def _refuse_readers_declarations(lines: Sequence[str]) -> None:
    if line := next(filter(resembles_readers_declaration, lines), ""):
        raise _make_error(
            f"declares readers in a place that is not supported: {line.strip()!r:.60}"
        )


def _make_error(problem: str) -> UnreadableError:
    return UnreadableError(
        f"{problem}; correct the front matter. If it is not front matter, write the rule as ***, "
        "or put a heading before it",
        readers=(),
    )


def _find_start(text: str) -> int:
    match = _LEAD.match(text)
    return match.end() if match else 0


def _first_lines(text: str, start: int) -> list[str]:
    """Return the first lines of a text from character ``start`` on, at least one."""
    return text[start : start + HEAD_CHARS].split("\n")[:HEAD_LINES]


def _first_paragraph(lines: Sequence[str]) -> list[str]:
    """Return the first paragraph of the lines, without blank lines before it."""
    return list(takewhile(str.strip, dropwhile(lambda line: not line.strip(), lines)))


def _load_yaml(text: str) -> object:
    """Parse YAML; scalars stay as they are written."""
    import yaml

    try:
        node = yaml.compose(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return {} if node is None else _to_value(node, count(1))


def _load_toml(text: str) -> object:
    return tomllib.loads(text)


def _to_value(node: Any, numbers: Iterator[int]) -> Any:
    """Convert a YAML node to a value; ``numbers`` counts the values."""
    if next(numbers) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES:,} values")
    if node.id == "mapping":
        keys = [key.value for key, _ in node.value]
        if not all(isinstance(key, str) for key in keys):
            raise ValueError("a key is not a text")
        values = [_to_value(value, numbers) for _, value in node.value]
        return object_from_pairs(list(zip(keys, values, strict=True)))
    if node.id == "sequence":
        return [_to_value(item, numbers) for item in node.value]
    return node.value if node.style else _to_scalar(node.value)  # a quoted scalar is a text


def _to_scalar(raw: str) -> MetadataScalar | None:
    """Convert a scalar to a boolean, or to a number if that keeps all its digits, else to text."""
    if raw in _NULLS:
        return None
    if raw.lower() in {"true", "false"}:
        return raw.lower() == "true"
    if _INTEGER.match(raw):
        return int(raw)
    if _FLOAT.match(raw) and str(float(raw)) == raw:
        return float(raw)
    return raw


def _flatten(path: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield values by key; nested ones under "outer.inner"."""
    for key, value in values.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping):
            yield from _flatten(name, value)
        else:
            yield name, value
