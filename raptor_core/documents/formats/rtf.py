"""Rich text (.rtf): paragraphs, rows of tables, sections from outline levels."""

import re

from raptor_core.documents.formats.archive import refuse_damage
from raptor_core.documents.formats.encoding import find_codec
from raptor_core.documents.formats.parsed import Blocks, Parsed, UnreadableError

_TOKEN = re.compile(
    r"\\(?:([a-zA-Z]+)(-?\d+)? ?|'([0-9a-fA-F]{2})|([^a-zA-Z']))|([{}])|([^\\{}\r\n]+)|[\r\n]",
    re.DOTALL,
)
_LEFT_OUT = frozenset(
    """
    fonttbl colortbl stylesheet info pict header headerl headerr headerf footer footerl footerr
    footerf listtable listoverridetable revtbl rsidtbl generator themedata colorschememapping
    datastore latentstyles xmlnstbl fldinst upr annotation object objdata bkmkstart bkmkend atnid
    atnauthor filetbl nonshppict
    """.split()  # noqa: SIM905
)
_CHARS = {"line": "\n", "tab": " ", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’"}
_CHARS |= {"ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " "}
_SYMBOLS = {"~": " ", "_": "-", "-": "", "\n": "\n"}
_PAGES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850", "10000": "mac_roman"}
_PAGES |= {"65001": "utf-8", "10007": "mac_cyrillic", "10029": "mac_latin2"}
_SHOWN = frozenset({"shptxt", "ud"})  # in groups that are left out
_CHARSETS = {0: "cp1252", 128: "cp932", 129: "cp949", 134: "cp936", 136: "cp950", 161: "cp1253"}
_CHARSETS |= {162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257"}
_CHARSETS |= {204: "cp1251", 222: "cp874", 238: "cp1250"}


def parse_rtf(data: bytes) -> Parsed:
    """Parse rich text without pictures, comments, headers and footers of pages."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableError("is no rich text: it does not begin with {\\rtf")
    with refuse_damage("rich text"):
        reader = _Reader()
        for token in _TOKEN.finditer(data.decode("latin-1")):
            reader.read(token)
        reader.flush()
    return reader.blocks.parsed()


class _Reader:
    """Reader of tokens; a group restores what stood before it: omission, font, and fallbacks."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self._groups: list[tuple[bool, str, int]] = []
        self._is_omitted, self._n_fallback, self._n_skipped = False, 1, 0
        self._page = self._encoding = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = self._rank = 0
        self._bytes = bytearray()
        self._pieces: list[str] = []
        self._cells: list[str] = []

    def read(self, token: re.Match[str]) -> None:
        word, number, byte, symbol, brace, text = token.groups()
        if byte and self._n_skipped:
            self._n_skipped -= 1
        elif byte:
            self._bytes += b"" if self._is_omitted else bytes.fromhex(byte)
        elif text is not None:
            self._text(text)  # with the second byte of a letter
        elif brace == "{":
            self._groups.append((self._is_omitted, self._encoding, self._n_fallback))
        elif brace == "}":
            self._decode()
            state = self._groups.pop() if self._groups else (False, self._page, 1)
            self._is_omitted, self._encoding, self._n_fallback = state
        elif symbol == "*":
            self._is_omitted = True
        elif symbol in _SYMBOLS or symbol in {"\\", "{", "}"}:
            self._text(_SYMBOLS.get(symbol, symbol))
        elif word:
            self._word(word, int(number) if number else None)

    def flush(self) -> None:
        """Write the open paragraph."""
        self._decode()
        text, self._pieces = "".join(self._pieces), []
        if self._rank:
            self.blocks.begin_heading(self._rank)
        self.blocks.paragraph(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    def _text(self, text: str) -> None:
        n_skipped = min(self._n_skipped, len(text))
        self._n_skipped -= n_skipped
        if not self._is_omitted:
            self._bytes += text[n_skipped:].encode("latin-1")

    def _decode(self) -> None:
        self._pieces.append(self._bytes.decode(self._encoding, "replace"))
        self._bytes.clear()

    def _word(self, word: str, number: int | None) -> None:
        self._decode()
        if word in _LEFT_OUT:
            self._is_omitted = True
        elif word in _SHOWN:
            self.flush()
            self._is_omitted = False
        elif word in _PAGES or word == "ansicpg":
            page = _PAGES.get(word) or find_codec(_PAGES.get(f"{number}", f"cp{number}"))
            self._page = self._encoding = page or "cp1252"
        elif word == "uc":
            self._n_fallback = number or 0
        elif word == "u" and number is not None:
            self._pieces += [] if self._is_omitted else [chr(number % 0x10000)]
            self._n_skipped = self._n_fallback
        elif word == "f":
            self._font = number or 0
            self._encoding = self._fonts.get(self._font, self._page)
        elif word == "fcharset":
            self._fonts[self._font] = _CHARSETS.get(number, self._page) if number else self._page
        elif not self._is_omitted:
            self._layout(word, number)

    def _layout(self, word: str, number: int | None) -> None:
        if word in _CHARS:
            self._pieces.append(_CHARS[word])
        elif word in {"par", "sect", "page"}:
            self.flush()
        elif word == "cell":
            self._cells.append(" ".join("".join(self._pieces).split()))
            self._pieces = []
        elif word == "row":
            self.blocks.row(self._cells)
            self._cells = []
        elif word == "pard":
            self._rank = 0
        elif word == "outlinelevel":
            self._rank = (number or 0) + 1 if (number or 0) < 9 else 0
