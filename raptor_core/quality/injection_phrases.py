"""What text looks like that gives orders to a language model, in ten languages.

Drawn from what published collections of such attacks have in common (an order to forget what was
said before, words to "the AI", chat markup, characters that nobody sees), and kept narrow: text
about such attacks is rarer than text that merely says "ignore" or "instructions".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORDS = r"(?:\W+\w+){0,4}?\W+"
"""Up to four words between two others."""


def _order(verbs: str, objects: str) -> str:
    return rf"\b(?:{verbs}){_WORDS}(?:{objects})"


_FORGET = {
    "English": _order(
        r"ignore|ignoring|disregard(?:ing)?|forget|override|bypass|stop following|do not follow",
        rf"(?:previous|prior|preceding|above|earlier|foregoing|your|system|original){_WORDS}?"
        r"(?:instruct\w*|prompts?|guidelines?|directives?|directions|rules|programming)\b"
        r"|(?:instructions|prompts?|guidelines|directives|rules) (?:\w+ )?above\b",
    ),
    "English, all of it": (
        r"\b(?:ignore|disregard|forget) (?:everything|anything|all(?: that)?) "
        r"(?:above|before this|you (?:were|have been) (?:told|given))\b"
    ),
    "German": _order(
        r"ignoriere?n?|vergiss|vergessen sie|missachten?",
        r"(?:bisherig|vorherig|obig|früher|vorangegangen|dein|ihr)en?\W+(?:\w+\W+)?"
        r"(?:anweisungen|instruktionen|vorgaben|befehle|regeln)\b",
    ),
    "French": _order(
        r"ignore[zr]?|oublie[zr]?|ne tene?z pas compte",
        r"(?:instructions|consignes|directives)\W+(?:précédentes|antérieures|ci-dessus)",
    ),
    "Spanish": _order(
        r"ignor[ae]|olvid[ae]|desestim[ae]",
        r"(?:instrucciones|indicaciones|órdenes)\W+(?:anteriores|previas)\b",
    ),
    "Italian": _order(r"ignora|dimentica", r"istruzioni\W+precedenti\b"),
    "Portuguese": _order(r"ignore|esqueça|desconsidere", r"instruções\W+anteriores\b"),
    "Dutch": _order(
        r"negeer|vergeet",
        r"(?:vorige|eerdere|bovenstaande|voorgaande|je)\W+(?:instructies|opdrachten|regels)\b",
    ),
    "Russian": _order(r"игнорируй\w*|забудь\w*", r"инструкци\w+|указани\w+"),
    "Chinese": (
        r"(?:忽略|无视|無視|忘记|忘記).{0,6}(?:之前|以上|上述|先前|前面|所有)"
        r".{0,6}(?:指令|指示|提示|命令)"
    ),
    "Japanese": (
        r"(?:以前|上記|これまで|前述|すべて)の?.{0,6}(?:指示|命令|プロンプト).{0,4}(?:無視|忘れ)"
    ),
}
_MODEL = r"(?:ai|llms?|(?:large )?language models?|chat ?bots?|ai assistants?|summari[sz]ers?)"

FORGET = "tells a model to forget its instructions"
ADDRESS = "speaks to a model"
ROLE = "gives a model another role"
PROMPT = "asks for a model's prompt"
MARKUP = "holds the markup of a chat"
HIDDEN = "holds characters that nobody sees"


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a text does, and the pattern that tells; ``parts``: one of them is in every match."""

    kind: str
    pattern: re.Pattern[str]
    parts: tuple[str, ...]

    def is_in(self, words: str) -> bool:
        """Whether a text does it; a look for the parts spares nearly all texts the pattern."""
        return any(part in words for part in self.parts) and bool(self.pattern.search(words))


PHRASES = (
    Phrase(
        FORGET,
        re.compile("|".join(_FORGET.values())),
        (
            *("ignor", "disregard", "forget", "override", "bypass", "stop following", "not follow"),
            *("verg", "missachte", "oublie", "pas compte", "olvid", "desestim", "dimentica"),
            *("esqueça", "desconsidere", "negeer", "игнорируй", "забудь", "忽略", "无视", "無視"),
            *("忘记", "忘記", "忘れ"),
        ),
    ),
    Phrase(
        ADDRESS,
        re.compile(
            rf"\b(?:note|message|attention|instructions?|important|warning) (?:to|for) "
            rf"(?:the |any |all |every )?{_MODEL}\b[^.\n]{{0,40}}[:,]"
            rf"|\bif you are an? {_MODEL}\b"
            rf"|\b(?:dear|hey|attention,?) {_MODEL}\b"
            r"|\bwhen (?:you )?(?:summari[sz]e|summari[sz]ing|answering|processing) this "
            r"(?:text|document|page|passage|file)[^.\n]{0,60}?\b(?:must|always|never|say|write|"
            r"include|claim|state|do not|don't)\b"
        ),
        (
            "note",
            "message",
            "attention",
            "instruction",
            "important",
            "warning",
            "if you are a",
            "dear",
            "hey",
            "when ",
        ),
    ),
    Phrase(
        ROLE,
        re.compile(
            r"\b(?:you are now|act as|pretend to be|switch to|enter)\W+"
            r"(?:an?\W+|in\W+|into\W+|the\W+)?(?:dan\b|developer mode|debug mode|god mode|"
            r"jailbroken|unrestricted|unfiltered|uncensored|ai without|assistant without)"
        ),
        ("you are now", "act as", "pretend to be", "switch to", "enter"),
    ),
    Phrase(
        PROMPT,
        re.compile(
            r"\b(?:reveal|print|repeat|output|show|leak|display|disclose)\W+(?:me\W+)?"
            r"(?:your|the)\W+(?:full\W+|entire\W+)?(?:system|hidden|initial|original|secret)\W+"
            r"(?:prompt|instructions|message)\b"
        ),
        ("prompt", "instructions", "message"),
    ),
)
"""Of texts that are normalized and casefolded, with single spaces."""

_TAGS = "\U000e0020-\U000e007e"
_FLAG = re.compile(f"\U0001f3f4[{_TAGS}]+\U000e007f")
_UNSEEN = re.compile(f"[{_TAGS}]|[\u202d\u202e]|[\u200b-\u200d\u2060\ufeff]{{8,}}")

CHAT_MARKUP = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|eot_id|"
    r"start_header_id|end_header_id)\|>|<</?SYS>>|\[/?INST\]"
)
"""As chats are marked up, of texts as they stand."""


def hidden(text: str) -> bool:
    """Whether a text holds Unicode tags, reversed runs, or long runs of no width.

    A flag's tags are none of them.
    """
    return _UNSEEN.search(_FLAG.sub("", text)) is not None
