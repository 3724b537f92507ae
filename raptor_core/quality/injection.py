"""Text that gives orders to the model that reads it, in ten languages.

Documents are fenced in every prompt, so an order is summarized as text like any other; but no fence
is sure, and whoever answers from these trees with a model of their own should know.

The patterns are drawn from what published collections of such attacks have in common (an order to
forget what was said before, words to "the AI", chat markup, characters that nobody sees), and kept
narrow: text about such attacks is rarer than text that merely says "ignore" or "instructions".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from raptor_core.quality.subjects import CheckedTrees
from raptor_core.quality.verdicts import Measured, WorstNode, check, percent

_FEW_WORDS = r"(?:\W+\w+){0,4}?\W+"
"""Up to four words between two others."""


def _order(verbs: str, objects: str) -> str:
    return rf"\b(?:{verbs}){_FEW_WORDS}(?:{objects})"


_FORGET = {
    "English": _order(
        r"ignore|ignoring|disregard(?:ing)?|forget|override|bypass|stop following|do not follow",
        rf"(?:previous|prior|preceding|above|earlier|foregoing|your|system|original){_FEW_WORDS}?"
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


_NO_WIDTH = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\U000e0000-\U000e007f]")


def orders(text: str) -> tuple[str, ...]:
    """What a text does to a model that reads it; empty for plain text.

    Words are found whatever their case, width and spacing, and with unseen characters in them.
    """
    plain = _NO_WIDTH.sub("", unicodedata.normalize("NFKC", text))
    words = " ".join(plain.casefold().split())
    kinds = [phrase.kind for phrase in PHRASES if phrase.is_in(words)]
    kinds += [MARKUP] if CHAT_MARKUP.search(plain) else []
    kinds += [HIDDEN] if hidden(text) else []
    return tuple(kinds)


@check(
    "prompt_injection",
    "warn",
    "Share of chunks and summaries with text that gives orders to a language model.",
)
def prompt_injection(checked: CheckedTrees) -> Measured:
    """Whether at most ``max_injected`` of the nodes give orders."""
    n_nodes = sum(map(len, checked.layers))
    ordering = [(n, kinds) for layer in checked.layers for n in layer if (kinds := orders(n.text))]
    ordering.sort(key=lambda pair: (not pair[0].is_leaf, -len(pair[1]), pair[0].id))
    n_leaves = sum(node.is_leaf for node, _ in ordering)
    bound, share = checked.settings.checks.max_injected, len(ordering) / n_nodes if n_nodes else 0.0
    numbers = {
        "nodes": float(n_nodes),
        "chunks_with_orders": float(n_leaves),
        "summaries_with_orders": float(len(ordering) - n_leaves),
        "share_with_orders": share,
    }
    summary = (
        f"{len(ordering)} of {n_nodes} nodes give orders to a model (at most {percent(bound)})."
    )
    worst = [WorstNode.of(node, len(kinds), "; ".join(kinds)) for node, kinds in ordering]
    remedy = (
        "Read the passages. Leave the document out with source.exclude, or keep it and fence what "
        "a model is given; raise checks.max_injected where documents tell of such text."
    )
    return Measured(share <= bound, summary, numbers, worst, remedy)
