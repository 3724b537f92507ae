"""Mail messages: their text, with subject, sender, date and attachments as metadata.

All text parts are read in order, but only one of several alternatives. Forwarded messages become
sections.
"""

import email
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from email import policy
from email.message import EmailMessage
from email.policy import EmailPolicy
from functools import lru_cache
from typing import Any, cast

from raptor_formats.base import MetadataValue, Parsed, UnreadableError
from raptor_formats.declared import refuse_readers_key
from raptor_formats.encoding.decoding import convert_to_utf8, decode, decode_with_doubts, find_codec
from raptor_formats.markup.html import parse_html
from raptor_formats.metadata import clean_metadata
from raptor_formats.office.archive import damage_as_unreadable
from raptor_formats.sections import join_parts, put_under_heading
from raptor_formats.text import clean_text, one_line

_HEADERS = {"subject": "subject", "sender": "from", "recipients": "to", "date": "date"}
_PLAIN = frozenset(["text/plain", "text/markdown", "text/x-markdown"])
_WITHOUT_PARTS = ("text/", "multipart/")
_FORWARDED = frozenset(["message/rfc822", "message/global", "message/news"])
_ENCODED = frozenset(["base64", "quoted-printable"])
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_ENCODED_WORD = re.compile(r"=\?([\w.:-]+)(?=\?[bBqQ]\?)")
_N_START = 64  # bytes; UTF-16 has a zero among them
UNNAMED = "Forwarded message"

MAX_FIELD_CHARS = 8_000
"""Length to which a header field is cut, about 200 recipients."""


def parse_eml(data: bytes, encoding: str = "") -> Parsed:
    """Parse a message from its plain text, or from its HTML if it has none.

    ``encoding`` is used for parts that declare none; "" guesses it.
    """
    with damage_as_unreadable("mail message"):
        message = _read_message(data)
        if not message.keys():
            raise UnreadableError("is not a mail message: it does not begin with a header")
        for name in message.keys():  # noqa: SIM118
            refuse_readers_key(name.lower().removeprefix("x-"))
        reading = _MessageParser(encoding)
        body = join_parts(reading.read_texts(message))
        about = _read_metadata(message)
    return assemble_mail(body, {**about, **reading.doubts}, reading.attachment_names)


def assemble_mail(
    body: Parsed, about: Mapping[str, MetadataValue], attached: Sequence[str]
) -> Parsed:
    """Return a message made of these parts, or raise UnreadableError if it has no text."""
    names = ", ".join(one_line(name) or "without a name" for name in attached)
    if not body.text.strip():
        raise UnreadableError(f"contains no text{f'; attached: {names}' if names else ''}")
    metadata = clean_metadata({**about, "attachments": names})
    return replace(body, title=one_line(str(about["subject"])), metadata=metadata)


def _read_message(data: bytes) -> EmailMessage:
    if b"\0" in data[:_N_START]:
        data = convert_to_utf8(data)[0]
    data = data.removeprefix(b"\xef\xbb\xbf")
    end = _END_OF_HEAD.search(data)
    at = end.start() if end else len(data)
    header = data[:at] if data[:at].isascii() else decode(data[:at]).encode("utf-8", "replace")
    return email.message_from_bytes(header + data[at:], policy=_POLICY)


class _BoundedPolicy(EmailPolicy):
    """Policy that cuts long fields, because Python's parser takes quadratic time for them."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        cut, space = value[:MAX_FIELD_CHARS], " \n"
        if len(value) > MAX_FIELD_CHARS:
            cut = cut[: max(map(cut.rfind, space))] or cut
        return name, cut

    def header_fetch_parse(self, name: str, value: str) -> Any:
        return _parse_field(name, value)


class _Message(EmailMessage):
    """Message or part; Python's parser treats a message that is encoded as a whole as text."""

    def get_content_maintype(self) -> str:
        kind = super().get_content_maintype()
        encoding = str(self.get("content-transfer-encoding", "")).strip().lower()
        return "text" if kind == "message" and encoding in _ENCODED else kind


_POLICY: Any = _BoundedPolicy(message_factory=_Message)


@lru_cache(maxsize=16)  # Python parses a field on every access
def _parse_field(name: str, value: str) -> Any:
    known = _ENCODED_WORD.sub(_replace_charset, value)
    try:
        return policy.default.header_fetch_parse(name, known)
    except Exception:  # noqa: BLE001 - a malformed field must not hide the body
        return known


def _replace_charset(word: re.Match[str]) -> str:
    codec = find_codec(word[1])
    return f"=?{codec}" if codec else word[0]


def _decode_payload(part: EmailMessage) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _read_metadata(message: EmailMessage) -> dict[str, MetadataValue]:
    about: dict[str, MetadataValue] = {k: str(message[v] or "") for k, v in _HEADERS.items()}
    moment = getattr(message["date"], "datetime", None)
    return {**about, "date": moment.isoformat()} if moment else about


@dataclass
class _MessageParser:
    """State while the parts of a message are read: doubts and names of attachments."""

    encoding: str
    doubts: dict[str, MetadataValue] = field(default_factory=dict)
    attachment_names: list[str] = field(default_factory=list)

    def read_texts(self, part: EmailMessage) -> list[Parsed]:
        """Return the texts of a part in order, without blank ones."""
        kind = part.get_content_type()
        parts = cast("list[EmailMessage]", part.get_payload()) if part.is_multipart() else []
        if kind in _FORWARDED and (parts or _decode_payload(part).strip()):
            return [
                self._read_forwarded(parts[0] if parts else _read_message(_decode_payload(part)))
            ]
        if kind == "multipart/alternative":
            ordered = sorted(parts, key=lambda child: child.get_content_type() not in _PLAIN)
            return next(filter(None, map(self.read_texts, ordered)), [])
        if parts:
            return [text for child in parts for text in self.read_texts(child)]
        name, is_attached = part.get_filename(), part.get_content_disposition() == "attachment"
        is_text = kind in {*_PLAIN, "text/html"} or (kind.startswith(_WITHOUT_PARTS) and not name)
        if is_attached or not is_text:  # a page refers to its pictures by their id
            self.attachment_names += [name or ""] if is_attached or not part["content-id"] else []
            return []
        text = self._read_text_part(part, is_page=kind.endswith("html"))
        return [text] if text.text.strip() else []

    def _read_text_part(self, part: EmailMessage, *, is_page: bool) -> Parsed:
        charset = find_codec(part.get_content_charset("") or "") or self.encoding
        decoded = decode_with_doubts(_decode_payload(part), charset)
        self.doubts |= decoded.metadata
        if is_page:
            return parse_html(decoded.text.encode("utf-8", "replace"), is_whole=True)
        return Parsed(clean_text(decoded.text).strip("\n"))

    def _read_forwarded(self, message: EmailMessage) -> Parsed:
        named = [(label, message[label]) for label in ("From", "To", "Date")]
        lines = "\n".join(f"{label}: {one_line(str(value))}" for label, value in named if value)
        body = join_parts([*([Parsed(lines)] if lines else ()), *self.read_texts(message)])
        return put_under_heading(one_line(str(message["subject"] or "")) or UNNAMED, body)
