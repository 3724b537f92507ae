"""Subtitles (.srt, .vtt): the spoken text, a paragraph until a pause."""

import html
import re

from raptor_core.documents.formats.encoding import decode
from raptor_core.documents.formats.parsed import Blocks, Parsed, UnreadableError, clean_text

PAUSE_SECONDS = 3.0
"""Pause between two subtitles that begins a paragraph."""

_TIME = r"(?:(\d+):)?(\d+):(\d+)[.,](\d+)"
_CUE = re.compile(
    rf"^[ \t]*{_TIME}[ \t]+-->[ \t]+{_TIME}[^\n]*\n(.*?)(?=\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL
)
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9.][^>]*>|\{\\[^}]*\}")


def parse_subtitles(data: bytes) -> Parsed:
    """Parse subtitles without numbers, times, styles and notes."""
    text = clean_text(decode(data))
    blocks, end, last = Blocks(), 0.0, ""
    cues = list(_CUE.finditer(text))
    if not cues:
        raise UnreadableError("holds no subtitle: it has no line with a time and -->")
    for cue in cues:
        if _seconds(cue, 1) - end > PAUSE_SECONDS:
            blocks.end()
        end = _seconds(cue, 5)
        spoken = html.unescape(_TAG.sub("", _SPEAKER.sub(r"\1: ", cue[9]))).strip()
        if spoken != last:  # captions that roll repeat their lines
            blocks.text(f" {spoken}")
        last = spoken
    return blocks.parsed()


def _seconds(cue: re.Match[str], first: int) -> float:
    hours, minutes, seconds, fraction = (cue[first + n] or "0" for n in range(4))
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")
