"""The prompts of the chat summarizer, whose versions are part of its fingerprint."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from raptor_core.identity import digest
from raptor_core.models.endpoints.values import DATA, words_to_request, wrap_in_tag
from raptor_core.settings.models import SummarizerSettings
from raptor_core.tokens.base import TokenCounter

_MESSAGE_TOKENS = 12  # of roles and delimiters around a system and a user message, for OpenAI

_TAG = "excerpts"

_TITLE_LINE = (
    "Begin with a title of two to eight words on a line of its own; write the summary below it."
)


@dataclass(frozen=True, slots=True)
class SummaryPrompt:
    """A prompt for a chat model.

    Attributes:
        version: part of the fingerprint; raise it with every changed word.
        user: template of the user message, with ``{context}``.
        has_tags: put the texts into a fence, and request a length in the first attempt.
        requests_title: request a title before the summary.
        max_chars: maximum characters of the texts in the user message; None is no limit.
    """

    version: str
    system: str
    user: str
    has_tags: bool
    requests_title: bool = False
    max_chars: int | None = None

    def format_user_message(self, texts: Sequence[str], max_tokens: int) -> str:
        """Return the user message with the children's texts in document order."""
        joined = "\n\n".join(texts)[: self.max_chars]
        context = wrap_in_tag(_TAG, joined) if self.has_tags else joined
        question = self.user.replace("{max_words}", str(words_to_request(max_tokens, 0)))
        question = question.replace("{context}", context)
        if self.has_tags and "{max_words}" not in self.user:
            question = f"{question}\n\n{length_limit_line(max_tokens, 0)}"
        return f"{question}\n\n{_TITLE_LINE}" if self.requests_title else question


PROMPTS = {
    "paper": SummaryPrompt(  # table 11 of the paper, word for word
        "paper-1",
        system="You are a Summarizing Text Portal",
        user="Write a summary of the following, including as many key details as possible: "
        "{context}:",
        has_tags=False,
    ),
    "simple": SummaryPrompt(  # a common simplification of RAPTOR
        "simple-2",
        system="You are a helpful assistant.",
        user="Summarize the following text, capturing the key information and main points:\n\n"
        "{context}\n\nSummary:",
        has_tags=False,
        max_chars=3000,
    ),
    "bounded": SummaryPrompt(
        "bounded-2",
        system=f"You are a Summarizing Text Portal. {DATA}",
        user="Write a summary of the following in its language, including as many key details as "
        "possible:\n{context}",
        has_tags=True,
    ),
}


def make_prompt(settings: SummarizerSettings) -> SummaryPrompt:
    """Return the prompt that the settings name, with custom messages in place of its own."""
    named = PROMPTS[settings.prompt]
    if settings.titles:
        named = replace(named, version=f"{named.version}-titles-1", requests_title=True)
    if not settings.system_prompt and not settings.user_prompt:
        return named
    system, user = settings.system_prompt or named.system, settings.user_prompt or named.user
    if settings.system_prompt and named.has_tags:
        system = f"{system}\n{DATA}"
    return replace(
        named,
        version=f"{named.version}-{digest('prompt', system, user)[:16]}",
        system=system,
        user=user,
    )


def length_limit_line(max_tokens: int, n_too_long: int) -> str:
    """Return a line that limits the answer's length, a quarter less for each that was too long."""
    words = f"{words_to_request(max_tokens, n_too_long)} words"
    return f"Write at most {words}, in complete sentences. Output only the summary."


_NAMED_FACTS, _FACT_CHARS = 12, 60


def foreign_facts_line(facts: Sequence[str]) -> str:
    """Return a line that names the foreign facts of an earlier answer."""
    named = ", ".join(f'"{fact[:_FACT_CHARS]}"' for fact in facts[:_NAMED_FACTS])
    return (
        f"The text does not hold {named}: write nothing about it, and use only numbers and names "
        "that stand in the text."
    )


def prompt_overhead_tokens(settings: SummarizerSettings, counter: TokenCounter) -> int:
    """Return the tokens of a prompt without the children's texts; 0 if no model is called."""
    if settings.kind == "extractive":
        return 0
    prompt = make_prompt(settings)
    counts = counter.count([prompt.system, prompt.format_user_message((), settings.max_tokens)])
    return sum(counts) + _MESSAGE_TOKENS


def count_prompt_tokens(child_tokens: Sequence[int], overhead: int) -> int:
    """Return the prompt tokens of a summary, with a token between two children."""
    return sum(child_tokens) + (overhead + len(child_tokens) - 1 if overhead else 0)


def language_line(language: str) -> str:
    """Return a line that requests the language or script of the texts."""
    return f"Write in the language that the text is written in ({language})."
