"""The prompts of the chat summarizer, each with a version that is part of its fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from raptor_core.identity import digest
from raptor_core.models.endpoints.fencing import DATA, fence
from raptor_core.models.endpoints.values import max_words
from raptor_core.settings.models import SummarizerSettings
from raptor_core.tokens.base import TokenCounter

_MESSAGE_TOKENS = 12  # roles and marks around a system and a user message (OpenAI's chat format)

_TAG = "excerpts"

_TITLE_LINE = (
    "Begin with a title of two to eight words on a line of its own; write the summary below it."
)


@dataclass(frozen=True, slots=True)
class SummaryPrompt:
    """What a chat model is asked. Change a word, raise the version.

    ``fences``: the text stands in a fence, and the first question already says how long the
    summary may be; ``titles``: the answer is to begin with a title.
    """

    version: str
    system: str
    user: str
    fences: bool
    titles: bool = False

    def question(self, texts: Sequence[str], max_tokens: int) -> str:
        """The user message over the children's texts in document order."""
        joined = "\n\n".join(texts)
        context = fence(_TAG, joined) if self.fences else joined
        question = self.user.replace("{max_words}", str(max_words(max_tokens, 0)))
        question = question.replace("{context}", context)
        if self.fences and "{max_words}" not in self.user:
            question = f"{question}\n\n{limit_line(max_tokens, 0)}"
        return f"{question}\n\n{_TITLE_LINE}" if self.titles else question


PROMPTS = {
    "paper": SummaryPrompt(  # its table 11, word for word
        "paper-1",
        system="You are a Summarizing Text Portal",
        user="Write a summary of the following, including as many key details as possible: "
        "{context}:",
        fences=False,
    ),
    "simple": SummaryPrompt(  # the common short recipe
        "simple-1",
        system="You are a helpful assistant.",
        user="Summarize the following text concisely, keeping the key information:\n\n{context}",
        fences=False,
    ),
    "bounded": SummaryPrompt(
        "bounded-2",
        system=f"You are a Summarizing Text Portal. {DATA}",
        user="Write a summary of the following in its language, including as many key details as "
        "possible:\n{context}",
        fences=True,
    ),
}


def prompt_of(settings: SummarizerSettings) -> SummaryPrompt:
    """The prompt that the settings name, with their own words in place of its."""
    named = PROMPTS[settings.prompt]
    if settings.titles:
        named = replace(named, version=f"{named.version}-titles-1", titles=True)
    if not settings.system_prompt and not settings.user_prompt:
        return named
    system, user = settings.system_prompt or named.system, settings.user_prompt or named.user
    if settings.system_prompt and named.fences:
        system = f"{system}\n{DATA}"
    return replace(
        named,
        version=f"{named.version}-{digest('prompt', system, user)[:16]}",
        system=system,
        user=user,
    )


def objection_lines(objections: Sequence[str]) -> str:
    """Names what an earlier summary made up, so that this one does without; empty for nothing."""
    if not objections:
        return ""
    listed = "\n".join(f"- {told}" for told in objections)
    return (
        "An earlier summary said the following, which the text does not support. Say nothing of "
        f"the kind:\n{fence('claims', listed)}"
    )


def limit_line(max_tokens: int, n_too_long: int) -> str:
    """Asks for a bounded answer, a quarter shorter for each one that was too long."""
    words = f"{max_words(max_tokens, n_too_long)} words"
    return f"Write at most {words}, in complete sentences. Output only the summary."


def prompt_overhead(settings: SummarizerSettings, counter: TokenCounter) -> int:
    """Tokens of a summary's prompt beside its children's; 0 where no model is asked."""
    if settings.kind != "openai":
        return 0
    prompt = prompt_of(settings)
    counts = counter.count([prompt.system, prompt.question((), settings.max_tokens)])
    return sum(counts) + _MESSAGE_TOKENS


def prompt_tokens(child_tokens: Sequence[int], overhead: int) -> int:
    """Prompt tokens of one summary over children of so many tokens each.

    ``overhead`` is ``prompt_overhead``; a mark between two children counts as one token. An
    endpoint that is asked counts by its own vocabulary, so its figure differs by some percent.
    """
    return sum(child_tokens) + (overhead + len(child_tokens) - 1 if overhead else 0)


def language_line(language: str) -> str:
    """Asks for the language or script of the text, where an answer was in another."""
    return f"Write in the language that the text is written in ({language})."
