"""What errors, refusals, error pages and echoed prompts look like.

Precision comes first, since junk blocks publishing: a phrase must stand where a model or a
client puts it (at the start, or as the whole text), and ``find_junk`` then asks whether the
children say the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache

# Wrappers that a model may put before its answer.
_LEAD = (
    r"^[\s\"'“”‘’*_#>`\[(-]{0,12}(?:(?:summary|answer|response|output|result)\s*:\s*)?"
    r"[\s\"'“*]{0,6}"
)
_FLAGS = re.IGNORECASE | re.DOTALL

_CANNOT = (
    r"(?:can\s?not|can['’]?t|could\s?n['’o]?t|won['’]?t|am\s+(?:not\s+able|unable)"
    r"|['’]m\s+(?:not\s+able|unable)|do\s+not\s+have|don['’]?t\s+have|was\s+(?:not\s+able|unable))"
)
_SERVICE = (
    r"(?:help|assist|summari[sz]e|provide|fulfil+|comply|answer\s+(?:that|this|your)|do\s+that"
    r"|(?:generate|create|write|produce|give|offer)\s+(?:you\s+)?(?:a|an|the|this|that|your)\s+"
    r"(?:\w+\s+){0,2}?(?:summary|response|content|text|answer)"
    r"|(?:process|access|continue|engage|discuss|support|view|see|read)\s+(?:with\s+|in\s+)?"
    r"(?:this|that|the|your|any)\s+(?:\w+\s+)?(?:request|conversation|content|topic|text|document"
    r"|file|files|link|input))"
)
_REFUSALS = (
    # An apology and an inability, as in "I'm sorry, but I can't assist with that."
    r"(?:(?:i\s*['’]?\s*a?m|we\s*['’]?\s*a?re)\s+(?:\w+\s+)?(?:sorry|afraid)|sorry|i\s+apologi[sz]e"
    r"|(?:my\s+)?apologies|unfortunately)\b.{0,60}?\b(?:i|we)\s*" + _CANNOT + r"\b",
    r"i\s*" + _CANNOT + r"\s+(?:to\s+)?(?:\w+ly\s+)?" + _SERVICE + r"\b",
    (
        r"i\s+(?:do\s+not|don['’]t)\s+have\s+(?:(?:enough|sufficient|any|the)\s+(?:\w+\s+)?(?:text"
        r"|context|information|content|input)|(?:the\s+)?(?:access|ability)\s+to)\b"
    ),
    r"as\s+an?\s+(?:ai|artificial\s+intelligence|(?:large\s+)?language\s+model)\b[^.]{0,40}?,",
    r"as\s+an?\s+(?:ai|(?:large\s+)?language\s+model)\b.{0,60}\bi\b",
    # No input, or a request for it.
    (
        r"(?:please|could\s+you(?:\s+please)?|can\s+you(?:\s+please)?)\s+(?:provide|share|paste|supply"
        r"|send|upload)\s+(?:me\s+)?(?:with\s+)?(?:the|your|some|more|a)\b"
    ),
    (
        r"(?:it\s+(?:seems|looks|appears)\s+(?:that\s+|like\s+)?)(?:you|there|the|no|your)\b.{0,40}?"
        r"(?:n['’]t|\b(?:not|no|empty|missing|incomplete|cut\s+off|forgot))\b.{0,40}?"
        r"(?:provided?|text|content|message|included?|context|input|attached)"
        r"|it\s+(?:seems|looks|appears)\s+(?:that\s+|like\s+)?(?:the|your)\s+(?:text|content|message"
        r"|input|context|document)\b.{0,40}?\b(?:empty|missing|incomplete|cut\s+off|not\s+(?:included"
        r"|provided|attached))"
    ),
    (
        r"(?:i\s+(?:do\s+not|don['’]t)\s+see|there\s+(?:is|was)\s+no)\s+(?:any\s+)?(?:text|content"
        r"|context|input|document|information)\s+(?:to|provided|given|available|in\s+your)"
    ),
    (
        r"no\s+(?:text|content|context|input|document|summary)\s+(?:was\s+|is\s+)?(?:provided|given"
        r"|available|to\s+summari[sz]e|found)\b"
    ),
    (
        r"(?:this|your|the)\s+(?:request|prompt|content|input)\s+(?:was|has\s+been|may|might|violates?|is)"
        r"\b.{0,50}?(?:flagged|blocked|refused|rejected|against|violat|content\s+polic|usage\s+polic)"
    ),
    # The same in other languages.
    r"(?:很?抱歉|对不起|對不起|非常抱歉)[，,、。!！ ].{0,20}?(?:无法|不能|無法|没有|沒有)",
    r"(?:作为|作為)(?:一个|一個|一名)?\s*(?:ai|人工智能|人工智慧|语言模型|語言模型)",
    r"申し訳(?:ありません|ございません)が?.{0,40}?(?:できません|できない|いたしかねます)",
    r"죄송(?:합니다|하지만).{0,40}?(?:수\s*없|못)",
    r"lo\s+siento,?\s.{0,30}?\bno\s+(?:puedo|podemos)\b",
    r"(?:je\s+suis\s+)?désolée?,?\s.{0,40}?\bne\s+(?:peux|puis|pouvons)\b",
    r"(?:es\s+tut\s+mir\s+leid|entschuldigung|leider)\b.{0,40}?\bkann\s+ich\b.{0,80}?\b(?:nicht|kein)",
    r"(?:sinto\s+muito|desculpe|lamento),?\s.{0,30}?\bnão\s+(?:posso|podemos)\b",
    r"mi\s+dispiace,?\s.{0,30}?\bnon\s+posso\b",
    r"(?:извините|к\s+сожалению|прошу\s+прощения).{0,40}?\bне\s+мо(?:гу|жем)\b",
    r"(?:عذر[اً]+|آسف|أعتذر|معذرة).{0,40}?(?:لا\s+(?:أستطيع|يمكن)|لن\s+أتمكن)",
)

_STATUS = (
    r"(?:bad\s+request|unauthori[sz]ed|forbidden|not\s+found|request\s+time-?out|too\s+many\s+requests"
    r"|payload\s+too\s+large|internal\s+server\s+error|bad\s+gateway|service\s+(?:temporarily\s+)?"
    r"unavailable|gateway\s+time-?out|(?:model\s+|server\s+)?overloaded)"
)
_CLASS = r"(?-i:(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Timeout|Failure))"
_ERRORS = (
    r"traceback\s+\(most\s+recent\s+call\s+last\)",
    # Class names as clients print them, also those wrapped by a retrying decorator.
    _CLASS + r"\s*(?::\s|\(|\[|-\s*\d)",
    (
        r"(?:(?:api|server|runtime|http|network|openai|ollama|fatal|unexpected|connection|system|unknown"
        r"|value|internal|request|stream|json|llm|model)\s+)?(?:error|exception)\s*(?:code\s*)?[:=]"
    ),
    r"https?connectionpool\(",
    r"you(?:['’]ve|\s+have)?\s+(?:exceeded|reached|hit)\s+your\s+.{0,30}?(?:quota|limit)",
    (
        r"incorrect\s+api\s+key|invalid\s+(?:api|subscription|authentication)\s*(?:key|token)\b"
        r"|access\s+denied\s+due\s+to\s+invalid"
    ),
    r"this\s+model['’]s\s+maximum\s+context\s+length|.{0,40}maximum\s+context\s+length\s+is\s+\d",
    r"the\s+response\s+was\s+(?:filtered|blocked)",
    r"upstream\s+(?:connect\s+error|request\s+timeout|timed\s+out)|no\s+healthy\s+upstream",
    r"\[errno\s+-?\d+\]",
)
# These open honest sentences too, so they count in a short text only.
_SHORT_ERRORS = (
    r"(?:error|exception)\s+(?:code\s+)?\d{3}\b",
    (
        r"(?:error|failure|failed)\s+(?:to\s+)?(?:(?:generat|summari[sz]|creat|process|call|connect|get"
        r"|fetch|load|communicat|respond)\w*|while|during|in|calling|from)\b"
    ),
    r"(?:an?|the|unknown|unexpected|internal)\s+(?:\w+\s+)?error\s+(?:has\s+)?(?:occurred|happened)",
    r"(?:http(?:/\d(?:\.\d)?)?\s*)?(?:status\s*(?:code)?\s*:?\s*)?[45]\d\d\s*[:,-]?\s*(?:\w+\s+error"
    r"\s*:\s*)?" + _STATUS,
    r"max(?:imum)?\s+retries\s+exceeded",
    (
        r"(?:request|connection|read|operation)\s+(?:timed\s+out|error|refused|reset|aborted|closed"
        r"|failed)\b"
    ),
    r"(?:the\s+)?rate\s+limit\s+(?:reached|exceeded|error)|no\s+api\s+key",
    (
        r"(?:the|that|this)?\s*(?:model|engine|deployment)\s+.{0,60}?(?:does\s+not\s+exist|not\s+found"
        r"|(?:is\s+)?(?:currently\s+)?overloaded|is\s+(?:currently\s+)?(?:unavailable|loading))"
    ),
    (
        r"the\s+(?:server|api|service|engine)\s+(?:had\s+an\s+error|is\s+(?:currently\s+|temporarily\s+)?"
        r"(?:overloaded|unavailable|busy)|returned\s+an?\s+(?:invalid|error|empty))"
    ),
    r"cuda\s+(?:error|out\s+of\s+memory)|out\s+of\s+memory\b.{0,20}(?:tried|allocat)",
    r"maximum\s+recursion\s+depth",
    r"(?:getaddrinfo|connect)\s+(?:e[a-z]+)\b",
    (
        r"(?:could\s+not|unable\s+to|failed\s+to)\s+(?:connect|reach|resolve|summari[sz]e|generate\s+"
        r"(?:a\s+)?(?:summary|response|text))\b"
    ),
    (
        r"(?:sorry|oops|whoops)[,!.]?\s+(?:but\s+)?(?:something|there\s+was|an?\s+error)\b"
        r"|something\s+went\s+wrong(?:\s*(?:[.!,:;]|$|while|on\s+our)|\s+please)"
    ),
)
_SHORT_WORDS = 48
_WHOLE_ERRORS = (
    _STATUS + r"[.!]?",
    _CLASS + r"(?:\(\))?[.!]?",
    (
        r"(?:none|null|nil|nan|n/?a|undefined|true|false|error|exception|unknown|summary|string|todo|tbd|ok)"
        r"[.:!]?"
    ),
    r"\[object\s+object\]|<(?:no\s+)?(?:summary|response|text|empty)>|\{\}|\[\]|\"\"|''",
    r"<.{0,80}\bobject\s+at\s+0x[0-9a-f]+>?|<future\s.*>|<coroutine\s.*>",
)
_PAGES = (
    r"<!doctype\s+html|<\?xml\b|<(?:html|head|body|title|center|h1)\b[^>]*>",
    r"\{\s*[\"'](?:error|errors|message|detail|code|status|type|object|fault|statuscode)[\"']\s*:",
    r"data:\s*\{\s*\"|event:\s*\w+\s+data:",
)
_ECHOES = (
    r"you\s+are\s+a\s+summari[sz]ing\s+text\s+portal",
    r"write\s+a\s+summary\s+of\s+the\s+following(?:\s+in\s+its\s+language)?,?\s+including\s+as",
    r"</?excerpts>",
    r"\{context\}|\{\{\s*\w+\s*\}\}",
    r"<\|(?:im_start|im_end|endoftext|eot_id|start_header_id|system|user|assistant|end)\|?>",
    r"\[/?INST\]|<</?SYS>>|</?think>|###\s*(?:instruction|response)s?\s*:",
)
_LEADING_ECHOES = (
    r"(?:please\s+)?summari[sz]e\s+(?:the\s+)?(?:following|text\s+below|above)\b",
    r"(?:system|user|assistant|human)\s*:\s",
)


def _starting(patterns: tuple[str, ...]) -> str:
    return _LEAD + "(?P<found>" + "|".join(patterns) + ")"


_REFUSAL = _starting(_REFUSALS)
_ERROR = _starting(_ERRORS)
_SHORT_ERROR = _starting(_SHORT_ERRORS)
_WHOLE_ERROR = _LEAD + "(?P<found>" + "|".join(_WHOLE_ERRORS) + r")[\s\"'”*_`]*$"
_PAGE = r"^\s*(?:```\w*\s*)?(?P<found>" + "|".join(_PAGES) + ")"
_ECHO = "(?P<found>" + "|".join(_ECHOES) + ")"
_LEADING_ECHO = _starting(_LEADING_ECHOES)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled when it is first used: all of them take a tenth of a second."""
    return re.compile(text, _FLAGS)


def _found(match: re.Match[str] | None) -> str | None:
    return match["found"] if match else None


def error(text: str) -> str | None:
    """The phrase that makes ``text`` an error message or a placeholder, or None."""
    found = _found(_pattern(_ERROR).match(text)) or _found(_pattern(_WHOLE_ERROR).match(text))
    if found is None and len(text.split(maxsplit=_SHORT_WORDS)) <= _SHORT_WORDS:
        found = _found(_pattern(_SHORT_ERROR).match(text))
    return found


def refusal(text: str) -> str | None:
    """The phrase with which ``text`` refuses or asks for input, or None."""
    return _found(_pattern(_REFUSAL).match(text))


def page(text: str) -> str | None:
    """The start of ``text`` when it is an HTML, XML or JSON answer, or None."""
    return _found(_pattern(_PAGE).match(text)) or (text.strip()[:40] if _is_json(text) else None)


def prompt_echo(text: str) -> str | None:
    """The part of a prompt or chat template that ``text`` repeats, or None."""
    return _found(_pattern(_ECHO).search(text)) or _found(_pattern(_LEADING_ECHO).match(text))


def _is_json(text: str) -> bool:
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return False
    try:
        return isinstance(json.loads(bare), dict)
    except ValueError:
        return False


PHRASES: dict[str, Callable[[str], str | None]] = {
    "error": error,
    "refusal": refusal,
    "page": page,
    "prompt_echo": prompt_echo,
}
