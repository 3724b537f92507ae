"""MathML formulas as text, such as "x=(-b±√(b^2-4ac))/(2a)"; used by ``html``."""

import re
from collections.abc import Mapping, Sequence

_JOINTS = {  # signs before each child
    "mfrac": ("", "/"),
    "mover": ("", "^"),
    "msub": ("", "_"),
    "msubsup": ("", "_", "^"),
    "msup": ("", "^"),
    "munder": ("", "_"),
    "munderover": ("", "_", "^"),
}
_SEPARATORS = {"mtable": "; ", "mtr": ", ", "mlabeledtr": ", "}
_DROPPED = frozenset({"annotation", "annotation-xml", "mphantom"})
_SINGLE = re.compile(r"\([^()]*\)\Z|[\d.,]+\Z")


class Formula:
    """Text of one formula, built from the events of a parser."""

    def __init__(self) -> None:
        self._open: list[tuple[str, list[str]]] = []
        self._other = ""  # alternative text
        self.text = ""

    @property
    def is_open(self) -> bool:
        """Whether an element of the formula is open."""
        return bool(self._open)

    def start_element(self, name: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element, with or without a namespace prefix."""
        self._other = self._other or attributes.get("alttext", "")
        self._open.append((name.rpartition(":")[2], []))

    def end_element(self) -> None:
        """Handle the end of the innermost open element."""
        text = _compose_element(*self._open.pop())
        if self._open:
            self._open[-1][1].append(text)
        else:
            self.text = text or self._other

    def add_text(self, text: str) -> None:
        """Handle text between tags; surrounding white space is ignored."""
        self._open[-1][1].append(" ".join(text.split()))


def _compose_element(name: str, parts: Sequence[str]) -> str:
    """Compose the text of an element from the texts of its children."""
    if name in _DROPPED:
        return ""
    if name in _SEPARATORS:
        return _SEPARATORS[name].join(filter(None, parts))
    parts = [part for part in parts if part]
    if name in _JOINTS and len(parts) == len(_JOINTS[name]):
        pairs = zip(_JOINTS[name], parts, strict=True)
        return "".join(joint + _put_in_brackets(part) for joint, part in pairs)
    if name == "mroot" and len(parts) == 2:
        return f"{_put_in_brackets(parts[1])}√{_put_in_brackets(parts[0])}"
    if name == "mfenced":
        return f"({', '.join(parts)})"
    text = ""
    for part in parts:
        text += f" {part}" if _need_space_between(text, part) else part
    return f"√{_put_in_brackets(text)}" if name == "msqrt" else text


def _put_in_brackets(text: str) -> str:
    is_single = len(text) == 1 or text.isalpha() or _SINGLE.match(text)
    return text if is_single else f"({text})"


def _need_space_between(left: str, right: str) -> bool:
    """Return whether two texts need a space between them because one is a word."""
    first, last = re.split(r"\W", left)[-1], re.split(r"\W", right)[0]
    is_word = any(len(word) > 1 and word.isalpha() for word in (first, last))
    return bool(first and last) and is_word
