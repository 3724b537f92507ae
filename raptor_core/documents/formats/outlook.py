"""Messages that Outlook stored (.msg): streams of properties in an OLE file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from email import message_from_string, policy
from io import BytesIO
from typing import Any

from raptor_core.documents.base import MetadataValue
from raptor_core.documents.formats.archive import refuse_damage
from raptor_core.documents.formats.encoding import find_codec, find_declared, read_text
from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.mail import UNNAMED, mail
from raptor_core.documents.formats.parsed import Parsed, clean_text, head, join, one_line
from raptor_core.errors import MissingExtraError

_SUBJECT, _HEADERS, _BODY, _PAGE = 0x0037, 0x007D, 0x1000, 0x1013
_SENDER_NAME, _SENDER_ADDRESS = 0x0C1A, 0x0C1F
_BODY_CODE_PAGE, _CODE_PAGE = 0x3FDE, 0x3FFD
_ISO_8859 = 28590  # this plus the number of the part is its code page at Microsoft
_CODE_PAGES = {20127: "", 20866: "koi8-r", 21866: "koi8-u", 50220: "iso2022_jp", 51932: "euc_jp"}
_EMBEDDED = "__substg1.0_3701000D"


def parse_msg(data: bytes, encoding: str = "") -> Parsed:
    """Parse a message; ``encoding`` is that of 8-bit texts that declare none, "" recognizes it."""
    try:
        from olefile import OleFileIO
        from oxmsg import Message
    except ImportError as error:
        raise MissingExtraError("msg", "reading Outlook messages") from error
    with refuse_damage("Outlook message"):
        message = Message.load(BytesIO(data))
        pages = [message.properties.int_prop_value(key) for key in (_BODY_CODE_PAGE, _CODE_PAGE)]
        page = next(filter(None, map(_encoding_of, pages)), encoding)
        stored = _Stored(OleFileIO(BytesIO(data)), page)
        about: dict[str, MetadataValue] = {
            "subject": stored.text((), _SUBJECT),
            "sender": stored.sender(),
            "recipients": ", ".join(person.email_address for person in message.recipients),
            "date": message.sent_date.isoformat() if message.sent_date else "",
        }
        attached = [attachment.file_name or "" for attachment in message.attachments]
        body = join(stored.bodies(()))
    return mail(body, {**about, **stored.doubts}, attached)


def _encoding_of(code_page: int | None) -> str:
    if code_page is None:
        return ""
    named = _CODE_PAGES.get(code_page, f"cp{code_page}")
    return find_codec(named) or find_codec(f"iso8859-{code_page - _ISO_8859}")


@dataclass
class _Stored:
    """Properties of an open OLE file; ``folder`` is the path of a message in it."""

    ole: Any
    page: str
    doubts: dict[str, MetadataValue] = field(default_factory=dict)

    def text(self, folder: Sequence[str], key: int) -> str:
        """Return a property as text, or "" without it."""
        for kind in ("001F", "001E", "0102"):
            path = [*folder, f"__substg1.0_{key:04X}{kind}"]
            if not self.ole.exists(path):
                continue
            data = self.ole.openstream(path).read()
            if kind == "001F":
                return str(data.decode("utf-16-le", "replace"))
            decoded = read_text(data, self.page or find_declared(data))
            self.doubts |= decoded.metadata
            return decoded.text
        return ""

    def sender(self) -> str:
        """Return the sender by the headers of the message, else by its properties."""
        headers = message_from_string(self.text((), _HEADERS), policy=policy.default)
        address = self.text((), _SENDER_ADDRESS)
        named = " ".join(filter(None, [self.text((), _SENDER_NAME), address and f"<{address}>"]))
        return str(headers["from"] or named)

    def bodies(self, folder: Sequence[str]) -> list[Parsed]:
        """Return the text of a message, and those of the messages that it forwards."""
        body = Parsed(clean_text(self.text(folder, _BODY)).strip("\n"))
        if not body.text.strip():
            page = self.text(folder, _PAGE).encode("utf-8", "replace")
            body = parse_html(page, is_whole=True)
        texts = [body] if body.text.strip() else []
        inner = sorted({tuple(path[: len(folder) + 2]) for path in self.ole.listdir()})
        for path in inner:
            if path[:-2] == tuple(folder) and path[-1] == _EMBEDDED:
                subject = one_line(self.text(path, _SUBJECT)) or UNNAMED
                texts.append(head(subject, join(self.bodies(path))))
        return texts
