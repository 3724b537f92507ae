"""Subtitles (.srt, .vtt): the spoken text, with a paragraph break at each pause."""

import html
import re

from raptor_formats.base import Parsed, UnreadableError
from raptor_formats.encoding.decoding import decode
from raptor_formats.text import clean_text
from raptor_formats.writer import BlockWriter

PAUSE_SECONDS = 3.0
"""Pause between two subtitles that starts a new paragraph."""

_TIME = r"(?:(\d+):)?(\d+):(\d+)[.,](\d+)"
_CUE = re.compile(
    rf"^[ \t]*{_TIME}[ \t]+-->[ \t]+{_TIME}[^\n]*$(.*?)(?=^[ \t\d:.,]+-->|\Z)",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(r"\n[ \t]*\n(?:NOTE|STYLE|REGION)\b.*?(?=\n[ \t]*\n|\Z)", re.DOTALL)
_NEXT_NAME = re.compile(r"\n(?:[ \t]*\d+|[ \t]*\n[^\n]+)[ \t]*\n\Z")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9.][^>]*>|\{\\[^}]*\}")


def parse_subtitles(data: bytes) -> Parsed:
    """Parse subtitles without their numbers, times, styles and notes."""
    text = clean_text(decode(data))
    blocks, end = BlockWriter(), 0.0
    last: list[str] = []
    cues = list(_CUE.finditer(text))
    if not cues:
        raise UnreadableError("contains no subtitle: no line has a time and -->")
    for cue in cues:
        if _cue_seconds(cue, 1) - end > PAUSE_SECONDS:
            blocks.end_block()
        end = _cue_seconds(cue, 5)
        shown = _NEXT_NAME.sub("", _NOTE.sub("", cue[9])) if cue.end() < len(text) else cue[9]
        lines = html.unescape(_TAG.sub("", _SPEAKER.sub(r"\1: ", shown))).strip().split("\n")
        blocks.add_text("".join(f" {line}" for line in lines if line not in last))
        last = lines  # rolling captions repeat their lines
    return blocks.to_parsed()


def _cue_seconds(cue: re.Match[str], first: int) -> float:
    hours, minutes, seconds, fraction = (cue[first + n] or "0" for n in range(4))
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")
