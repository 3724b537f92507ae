"""Mail: the text of a message; subject, sender, date and attachments as metadata."""

from __future__ import annotations

import email
from collections.abc import Sequence
from email import policy
from io import BytesIO

from raptor_core.documents.formats.archive import refuse_damage
from raptor_core.documents.formats.html import parse_html
from raptor_core.documents.formats.parsed import (
    Parsed,
    UnreadableError,
    clean_metadata,
    clean_text,
    one_line,
)
from raptor_core.errors import MissingExtraError

_HEADERS = {"subject": "subject", "sender": "from", "recipients": "to", "date": "date"}


def parse_eml(data: bytes) -> Parsed:
    """Parse a message, from its plain text if it has any, else from its HTML."""
    with refuse_damage("mail message"):
        message = email.message_from_bytes(data, policy=policy.default)
        if not message.keys():
            raise UnreadableError("is no mail message: it begins with no header")
        body = message.get_body(("plain", "html"))
        attached = [part.get_filename() or "" for part in message.iter_attachments()]
        about = {key: str(message[name] or "") for key, name in _HEADERS.items()}
        moment = getattr(message["date"], "datetime", None)
        about["date"] = moment.isoformat() if moment else about["date"]
        text = body.get_content() if body is not None else ""
    if body is not None and body.get_content_subtype() == "html":
        return _mail(parse_html(text.encode(), is_whole=True), about, attached)
    return _mail(Parsed(clean_text(text)), about, attached)


def parse_msg(data: bytes) -> Parsed:
    """Parse a message that Outlook stored."""
    try:
        from oxmsg import Message
    except ImportError as error:
        raise MissingExtraError("msg", "reading Outlook messages") from error
    with refuse_damage("Outlook message"):
        message = Message.load(BytesIO(data))
        about = {
            "subject": message.subject or "",
            "sender": message.sender or "",
            "recipients": ", ".join(person.email_address for person in message.recipients),
            "date": message.sent_date.isoformat() if message.sent_date else "",
        }
        attached = [attachment.file_name or "" for attachment in message.attachments]
        plain, page = message.body or "", message.html_body or ""
    body = Parsed(clean_text(plain)) if plain else parse_html(page.encode(), is_whole=True)
    return _mail(body, about, attached)


def _mail(body: Parsed, about: dict[str, str], attached: Sequence[str]) -> Parsed:
    names = ", ".join(one_line(name) or "without a name" for name in attached)
    if not body.text.strip():
        raise UnreadableError(f"holds no text{f'; attached: {names}' if names else ''}")
    metadata = clean_metadata({**about, "attachments": names})
    return Parsed(body.text, one_line(about["subject"]), body.sections, metadata)
