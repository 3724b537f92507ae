"""Removal of what models put around an answer: reasoning, template tokens, introductions, fences.

It is removed only where a summary would never contain it, so a quoted tag is kept. ``answers``
parses the fields of an answer and calls this module.
"""

import re
from itertools import islice

_MAX_BLOCKS = 50
"""Maximum number of reasoning blocks to search for, so that no answer takes long."""
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")

_NAMES = (
    r"(?:seed:|mm:|longcat_|ant)?think(?:ing)?|thought|reasoning|analysis|reflection|scratchpad"
    r"|internal_monologue|chain_of_thought"
)
_OPENING = re.compile(
    rf"<(?:{_NAMES})(?:\s[^<>]*)?>|\[THINK\]|[\u25c1\u25c2]think[\u25b7\u25b8]"
    r"|<\|(?:begin_of_thought|START_THINKING|thinking|think)\|>|<unused94>(?:thought)?"
    r"|<\|channel>thought|<details type=\"reasoning\"[^<>]*>",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"</(?:{_NAMES})\s*>|\[/THINK\]|[\u25c1\u25c2]/think[\u25b7\u25b8]"
    r"|<\|(?:end_of_thought|END_THINKING|/thinking|/think)\|>|<unused95>|<channel\|>|</details>",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?:^|[\n.!?:\u3002\uff01\uff1f])[^\S\n]{0,8}$")
_LOWER = re.compile(r"[^\S\n]{0,8}[a-z,;]")
_MENTION_WORDS = 3
"""Maximum words between two tags that a sentence only mentions, as in "<think> and </think>"."""

_CHANNEL = re.compile(
    r"(?s)<\|channel\|>\s*(?P<name>\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>(?P<text>.*?)"
    r"(?=<\|(?:end|return|start|channel|call)\|>|\Z)"
)
_PROLOGUES = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        r"analysis[A-Z\"'].*?assistantfinal",  # a channel whose tokens the server removed
        r"Here is my thought process:.*?Here is my response:",
        r"Thinking\.\.\.\n.*?\n\.\.\.done thinking\.",
    )
)
_OPEN_PROLOGUE = re.compile(r"analysis[A-Z]")

_TEMPLATE = (
    r"(?:<\|[\w /.:-]{1,40}\|>|<\uff5c[^\uff5c<>]{1,40}\uff5c>|</?s>|<(?:eos|bos|pad)>|\[EOS\]"
    r"|<(?:end|start)_of_turn>|\[/?INST\])"
)
_ANY_TOKEN = re.compile(_TEMPLATE)
_LAST_TOKEN = re.compile(rf"{_TEMPLATE}\Z")
_FIRST_TOKENS = re.compile(
    r"(?i)(?:(?!<\|(?:channel|start|thinking|think|begin_of_thought|START_THINKING)\|>)"
    rf"{_TEMPLATE}\s*(?:(?:assistant|model)\b\s*)?)+|assistant\s*[:\n]\s*"
)
_TURN = re.compile(
    r"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|(?:user|system)\|>|\[INST\]"
)

_WRAPPED = re.compile(
    r"(?is)<(?P<tag>answer|final_answer|final|summary|response|output)>(?P<text>.*)</(?P=tag)>"
)
_SOLUTION = re.compile(
    r"(?s)<\|(?:begin_of_solution|START_RESPONSE|START_TEXT)\|>(?P<text>.*)"
    r"<\|(?:end_of_solution|END_RESPONSE|END_TEXT)\|>"
)
_FENCED = re.compile(
    r"(?is)```(?:markdown|md|te?xt|plain(?:text)?|json)?[^\S\n]*\n(?P<text>.*)\n[^\S\n]*```"
)

_PLEASANTRY = (
    r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|great|understood)[!,.]*"
)
_LEAD = (
    r"(?:i(?:['\u2019]d| would) be (?:happy|glad) to [^\n:.!?]{2,60}[.!]\s+"
    r"|based on (?:the|your) [^\n:,.!?]{2,60}, )"
)
_OF_TEXT = r"(?: of (?:the|this) (?:text|passages?|excerpts?|document|section|article))?"
_SUMMARY = r"(?:summar(?:y|i[sz]ation)|synopsis|overview|rewrite|json)"
_REST = r"(?:,? (?:of|for|in|from|based|that|with|as|covering|you|limited)\b[^\n:!?]{0,100})?"
_INTRODUCTION = re.compile(
    r"(?i)[*_#> ]*(?:"
    rf"(?:{_PLEASANTRY}\s+)?{_LEAD}?"
    r"(?:here(?:['\u2019]s| is| are)|below is|this is|the following is)"
    rf" (?:[\w'\u2019-]+,? ){{0,5}}{_SUMMARY}{_REST}(?::|[.!](?=[*_]*\s*\n))"
    rf"|(?:{_PLEASANTRY}\s+)?(?:here(?:['\u2019]s| is)|below is) (?:[\w'\u2019-]+,? ){{0,5}}"
    rf"(?:text|answer|response|title|output|result|version){_REST}:(?=[*_]*\s*\n)"
    rf"|(?:(?:the|final|concise|brief|short) )*(?:summary|synopsis|answer|tl;dr)"
    rf"{_OF_TEXT}(?: is)?(?: as follows)?[*_]*:"
    r"|voici [^\n:.!?]{0,60}r[\u00e9e]sum[\u00e9e][^\n:.!?]{0,60}:|r[\u00e9e]sum[\u00e9e]\s?:"
    r"|hier ist [^\n:.!?]{0,60}zusammenfassung[^\n:.!?]{0,60}:|zusammenfassung:"
    r"|aqu[\u00edi] (?:est[\u00e1a]|tienes) [^\n:.!?]{0,60}resumen[^\n:.!?]{0,60}:|resumen:"
    r"|(?:\u4ee5\u4e0b\u662f|\u8fd9\u662f)[^\n\uff1a:]{0,40}(?:\u6458\u8981|\u603b\u7ed3|\u6982\u8ff0)"
    r"[^\n\uff1a:]{0,20}[\uff1a:]|(?:\u6458\u8981|\u603b\u7ed3|\u8981\u7d04)[\uff1a:]"
    r")[*_]*\s*"
)
_HEADING = re.compile(
    r"(?i)(?:#{1,6} *|[*_]{2,3})?(?:summary|tl;dr|final answer)"
    rf"{_OF_TEXT}[*_]*:?[*_]*[^\S\n]*\n\s*|[-*_=]{{3,}}[^\S\n]*\n\s*"
    rf"|{_PLEASANTRY}[^\S\n]*\n\s*"
)
_FAREWELL = re.compile(
    r"(?i)\s*(?:(?:please )?let me know (?:if|whether)|i hope (?:this|that) helps|feel free to"
    r"|[(\[]?word count:)[^\n]*|[-*_=]{3,}"
)


def to_storable_text(text: str) -> str:
    """Return a text that every database can store, without control characters and lone surrogates.

    Line ends become line feeds. The two surrogates of a character are joined.
    """
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return _CONTROL.sub("", paired.replace("\r\n", "\n").replace("\r", "\n"))


def remove_reasoning(text: str) -> tuple[str, bool]:
    """Remove the reasoning from a text; return also whether the text ends within reasoning."""
    text = _without_match(_FIRST_TOKENS, text.strip())
    channels = list(_CHANNEL.finditer(text))
    if channels and (text.startswith("<|") or "<|start|>assistant<|channel|>" in text):
        finals = [match["text"] for match in channels if match["name"].lower() == "final"]
        return (finals[-1].strip(), False) if finals else ("", True)
    for prologue in _PROLOGUES:
        text = _without_match(prologue, text)
    for _ in range(_MAX_BLOCKS):
        opening = _OPENING.match(text)
        if opening is None:
            break
        end = _reasoning_block_end(text, opening)
        if end == opening.end():
            break
        text = "" if end is None else text[end:].strip()
        if end is None:
            return "", True
    if text.startswith("{"):  # it is JSON, whose strings may quote tags
        return text, False
    return _without_later_blocks(_after_lone_closing(text)), bool(_OPEN_PROLOGUE.match(text))


def visible_text(text: str) -> str:
    """Return the text of an answer without reasoning and the template tokens at its end."""
    answer, is_open = remove_reasoning(to_storable_text(text))
    return "" if is_open else _without_last_tokens(_without_next_turn(answer).strip())


def partial_visible_text(text: str) -> str:
    """Return the visible text of an unfinished answer, up to the first template token."""
    return _ANY_TOKEN.split(visible_text(text), maxsplit=1)[0]


def trim_answer(text: str) -> str:
    """Remove template tokens, introductions, fences and closing phrases from a text."""
    text, previous = _without_next_turn(text).strip(), ""
    while text and text != previous:
        previous = text
        text = _without_last_tokens(_without_match(_FIRST_TOKENS, text))
        for wrapping in (_WRAPPED, _SOLUTION, _FENCED):
            match = wrapping.fullmatch(text)
            if match and "```" not in match["text"]:
                text = match["text"].strip()
        for border in (_HEADING, _INTRODUCTION):
            text = _without_match(border, text) or text
        head, _, last_line = text.rpartition("\n")
        text = head.strip() if head.strip() and _FAREWELL.fullmatch(last_line) else text
    return text


def _without_match(border: re.Pattern[str], text: str) -> str:
    match = border.match(text)
    return text[match.end() :].strip() if match else text


def _without_last_tokens(text: str) -> str:
    while token := _LAST_TOKEN.search(text, max(0, len(text) - 50)):
        text = text[: token.start()].rstrip()
    return text


def _without_next_turn(text: str) -> str:
    """Cut off a next turn of the conversation that the model itself has written."""
    for turn in islice(_TURN.finditer(text), _MAX_BLOCKS):
        head = text[: turn.start()].rstrip(" \t")
        ends = head.endswith("\n") or _LAST_TOKEN.search(head, max(0, len(head) - 50))
        if head.strip() and ends and head.count("`") % 2 == 0:
            return head
    return text


def _reasoning_block_end(text: str, opening: re.Match[str]) -> int | None:
    """Return the end of a reasoning block, or None if it has no end.

    If the text only mentions the tags, the result is the end of the opening tag.
    """
    ends = list(islice(_CLOSING.finditer(text, opening.end()), _MAX_BLOCKS))
    if not ends:
        return None
    content = text[opening.end() : ends[0].start()]
    n_inner = sum(1 for _ in islice(_OPENING.finditer(content), len(ends) - 1))
    end = ends[n_inner].end()
    is_short = 0 < len(content.split()) <= _MENTION_WORDS and "\n" not in content
    return opening.end() if is_short and _LOWER.match(text, end) else end


def _after_lone_closing(text: str) -> str:
    """Return the text after a closing tag of reasoning whose opening tag is in the prompt."""
    end = 0
    for match in islice(_CLOSING.finditer(text), _MAX_BLOCKS):
        head = text[: match.start()]
        if _OPENING.search(head, end) or head.count("`") % 2:
            break
        ends_line = text[match.end() :].partition("\n")[0].strip() == ""
        ends_sentence = _SENTENCE_END.search(head[-40:]) and not _LOWER.match(text, match.end())
        if ends_line or ends_sentence or not head.strip():
            end = match.end()
    return text[end:].strip()


def _without_later_blocks(text: str) -> str:
    """Remove reasoning blocks that are on separate lines, outside of code blocks."""
    at = 0
    for _ in range(_MAX_BLOCKS):
        opening = _OPENING.search(text, at)
        if opening is None:
            break
        at = opening.end()
        line, end = text.rfind("\n", 0, opening.start()) + 1, _reasoning_block_end(text, opening)
        if end is None or text[line : opening.start()].strip():
            continue
        is_alone = end > at and not text[end:].partition("\n")[0].strip()
        if is_alone and text.count("```", 0, line) % 2 == 0:
            text, at = f"{text[:line]}{text[end:].lstrip()}", line
    return text.strip()
