"""Questions that no summary can answer, as they need every passage: counts, lists and extremes."""

import re
from unicodedata import normalize

from raptor_core.text.words import IDEOGRAPHIC

_PHRASES = {
    "count": (
        r"how (many|often)|(total|exact) number of|number of times|count (all|the|every)|"
        r"wie ?viele|wie (oft|häufig)|(gesamtzahl|anzahl) (der|aller|von)|zähle|combien d|"
        r"nombre (total )?d|cuánt[oa]s|número (total )?de|quant[ei] (?!o\b)|quant[oa]s|"
        r"сколько|多少[个個次篇份]|[几幾][个個次篇份]|有多少|いくつ|何[回件個人冊本]|몇 ?[개번명건]"
    ),
    "list": (
        r"(list|name|enumerate|show|give me) (me )?(all|every|each)|(complete|full) list|"
        r"which of (all )?the documents|(liste|nenne|zähle) .{0,12}\balle|"
        r"vollständige liste|(liste[rz]?|énumère[rz]?|cite[rz]?) (tou(s|tes)|chaque)|"
        r"liste complète|(enumera|lista|nombra|elenca|liste) (tod[oa]s|tutt[ie])|列出(所有|全部)|"
        r"すべて.{0,12}(列挙|挙げ)|перечисли.{0,6} все|모두 (나열|열거)"
    ),
    "extreme": (
        r"(the|whose|which) (\w+ )?(largest|biggest|smallest|longest|shortest|oldest|newest|"
        r"highest|lowest|heaviest|tallest|cheapest)|most (often|frequent\w*)|"
        r"\b(größte|kleinste|längste|kürzeste|älteste|neueste|höchste|niedrigste|teuerste)[nrsm]?|"
        r"am (größten|kleinsten|längsten|häufigsten|ältesten)|"
        r"l[ea] plus (grand|petit|long|court|ancien|récent|haut|bas|cher)\w*|le plus souvent|"
        r"(el|la|il|o|a) (\w+ )?(más|più|mais) (grande|pequeñ[oa]|larg[oa]|antig[ou]|alt[oa]|"
        r"piccol[oa]|antic[oa]|lung[oa])|([oa] (maior|menor)|(el|la) (mayor|menor))(?! parte)|"
        r"最(大|小|长|長|短|高|低|多|古い|新しい)的?|сам(ый|ая|ое) (больш|маленьк|длинн|стар)|"
        r"가장 (큰|작은|긴|짧은|오래된|높은|낮은)"
    ),
}
_WORD_START = rf"(?<![^\W{IDEOGRAPHIC}])"  # Chinese and Japanese words begin anywhere
_PATTERNS = {kind: re.compile(f"{_WORD_START}(?:{text})") for kind, text in _PHRASES.items()}


def exhaustive_kind(question: str) -> str:
    """Return "count", "list" or "extreme" for a question that needs every passage, else ""."""
    words = " ".join(normalize("NFKC", question).casefold().split())
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(words)), "")
