"""Forms of chat answers, each as a text or as a fault with its kind."""

import pytest

from raptor_core.models.endpoints.answers import read_chat, read_usage
from raptor_core.models.endpoints.faults import CallFaultError, FaultError
from raptor_core.models.endpoints.texts import to_storable_text

TEXT = "The king of the north rode home. He found his daughter there."
THOUGHT = "The user wants a summary.\nI will mention the king."


def body(content=TEXT, finish="stop", **message):
    answer = {"role": "assistant", "content": content, **message}
    return {"choices": [{"index": 0, "message": answer, "finish_reason": finish}]}


REASONING = {
    "think": f"<think>\n{THOUGHT}\n</think>\n\n{TEXT}",
    "empty think": f"<think>\n\n</think>\n\n{TEXT}",
    "think on one line": f"<think>Short.</think>{TEXT}",
    "thinking": f"<thinking>{THOUGHT}</thinking>\n{TEXT}",
    "reasoning": f"<reasoning>{THOUGHT}</reasoning>\n<answer>{TEXT}</answer>",
    "thought": f"<thought>\n{THOUGHT}\n</thought>\n{TEXT}",
    "capitals": f"<THINK>{THOUGHT}</THINK>\n{TEXT}",
    "seed": f"<seed:think>{THOUGHT}</seed:think>{TEXT}",
    "mistral": f"[THINK]{THOUGHT}[/THINK]{TEXT}",
    "kimi": f"◁think▷{THOUGHT}◁/think▷{TEXT}",
    "end tag alone": f"{THOUGHT}\n</think>\n\n{TEXT}",
    "end tag within a line": f"{THOUGHT}</think>{TEXT}",
    "end tag first": f"</think>\n\n{TEXT}",
    "two blocks": f"<think>{THOUGHT}</think>\n<think>Again.</think>\n{TEXT}",
    "nested": f"<think>a <think>b</think> c</think>\n{TEXT}",
    "a block below": f"{TEXT}\n<think>\n{THOUGHT}\n</think>",
    "channels": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant"
    f"<|channel|>final<|message|>{TEXT}<|return|>",
    "channels from the middle": f"{THOUGHT}<|end|>"
    f"<|start|>assistant<|channel|>final<|message|>{TEXT}",
    "final channel": f"<|channel|>final<|message|>{TEXT}",
    "channels without marks": f"analysisThe user wants it.assistantfinal{TEXT}",
    "cohere": f"<|START_THINKING|>{THOUGHT}<|END_THINKING|>"
    f"<|START_RESPONSE|>{TEXT}<|END_RESPONSE|>",
    "begin of thought": f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>\n"
    f"<|begin_of_solution|>{TEXT}<|end_of_solution|>",
    "gemma": f"<|channel>thought\n{THOUGHT}<channel|>{TEXT}",
    "granite": f"Here is my thought process: {THOUGHT}\nHere is my response:\n{TEXT}",
    "a start token and think": f"<|im_start|>assistant\n<think>{THOUGHT}</think>{TEXT}<|im_end|>",
}
BORDERS = {
    "end of text": f"{TEXT}</s>",
    "chatml": f"{TEXT}<|im_end|>",
    "llama": f"<|start_header_id|>assistant<|end_header_id|>\n\n{TEXT}<|eot_id|>",
    "header without marks": f"assistant\n\n{TEXT}",
    "gemma": f"{TEXT}<end_of_turn>\n<eos>",
    "deepseek": f"{TEXT}<｜end▁of▁sentence｜>",
    "the next turn": f"{TEXT}<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>",
    "here is": f"Here is a concise summary of the text:\n\n{TEXT}",
    "sure": f"Sure! Here’s the summary: {TEXT}",
    "certainly": f"Certainly!\n\n{TEXT}",
    "bold": f"**Summary:**\n\n{TEXT}",
    "bold within a line": f"**Summary:** {TEXT}",
    "heading": f"## Summary\n\n{TEXT}",
    "words before": f"Summary: {TEXT}",
    "limited": f"Here is a summary of the text in at most 120 words:\n{TEXT}",
    "happy": f"I'd be happy to help! Here is a summary of the text:\n\n{TEXT}",
    "based on": f"Based on the text provided, here is a brief summary:\n\n{TEXT}",
    "a sentence": f"Here is your summary.\n\n{TEXT}",
    "long heading": f"**Summary of the text**\n\n{TEXT}",
    "rules": f"Here is the summary:\n\n---\n\n{TEXT}\n\n---",
    "german": f"Hier ist die Zusammenfassung des Textes:\n\n{TEXT}",
    "chinese": f"以下是摘要：\n{TEXT}",
    "fence": f"```\n{TEXT}\n```",
    "fence of markdown": f"```markdown\n{TEXT}\n```",
    "introduced fence": f"Here is the summary:\n\n```text\n{TEXT}\n```",
    "farewell": f"{TEXT}\n\nLet me know if you need more details!",
    "word count": f"{TEXT}\n\n(Word count: 13)",
    "tag": f"<summary>{TEXT}</summary>",
    "byte order mark": f"\ufeff{TEXT}",
    "nul": f"{TEXT}\x00",
    "half of a pair": f"{TEXT}\ud83d",
    "white space": f"\r\n {TEXT} \r\n",
}


@pytest.mark.parametrize("form", REASONING)
def test_closed_reasoning_is_removed_in_every_notation(form):
    assert read_chat(body(REASONING[form])) == TEXT


@pytest.mark.parametrize("form", BORDERS)
def test_borders_around_an_answer_are_removed(form):
    assert read_chat(body(BORDERS[form])) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "The parser drops all between <think> and </think> before it shows the text.",
        "<think> and </think> enclose what the model thinks.",
        "A tag such as `<think>` opens it.\n\n```xml\n<think>\nNo.\n</think>\n```\n\nThat is all.",
        "The tag `</think>` ends it.\nThe rest is shown.",
        'He calls it "</think>". The rest is shown.',
        "Here is where the king died: a tower in York.",
        "Here is the place where the summary court met: a hall in York.",
        "This is the result of years of work: a wall.",
        "Summary judgment was granted to the king.",
        "Sure enough, the king came home.",
        "Assistant professors teach: they also write.",
        "Turns end with `<|im_end|>` and begin with `<|im_start|>user` in this format.",
        "Analysis of the soil: it holds lead.",
        "Two lines.\n\nThe second: here is the summary of it all.",
        "Use `a < b` and 😀 as you like.\tSo be it.",
        "Let me know if you come, wrote the king.",
    ],
)
def test_a_text_that_only_resembles_a_border_stays_as_it_is(text):
    assert read_chat(body(text)) == text


def test_halves_of_a_pair_in_two_pieces_are_joined_and_line_ends_are_one():
    assert to_storable_text("a\ud83d\ude00\r\nb\rc\x07") == "a😀\nb\nc"


@pytest.mark.parametrize(
    "finish",
    [
        *("stop", None, "", "eos", "eos_token", "stop_sequence", "end_turn", "STOP", "COMPLETE"),
        *("FINISH_REASON_STOP", "FinishReason.STOP", "completed", {"type": "eos"}),
    ],
)
def test_every_word_for_finished_is_finished(finish):
    assert read_chat(body(finish=finish)) == TEXT


def test_an_answer_without_the_field_is_finished():
    assert read_chat({"choices": [{"message": {"content": TEXT}}]}) == TEXT


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": TEXT}],
        [{"type": "text", "text": TEXT[:20]}, {"type": "text", "text": TEXT[20:]}],
        [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "text", "text": TEXT},
        ],
        [{"type": "reasoning", "text": "Hm."}, {"type": "output_text", "text": TEXT}],
        [TEXT],
        {"type": "text", "text": TEXT},
        {"parts": [{"text": "Hm.", "thought": True}, {"text": TEXT}]},
    ],
)
def test_content_in_parts_is_joined_without_reasoning(content):
    assert read_chat(body(content)) == TEXT


@pytest.mark.parametrize(
    "answer",
    [
        {**body(), "error": None},
        {**body(), "error": {"message": "", "type": "", "code": None}},
        {**body(), "base_resp": {"status_code": 0, "status_msg": "success"}},
        {"choices": [{"text": TEXT, "finish_reason": "stop"}]},
        {"choices": [{"delta": {"content": TEXT}, "finish_reason": "stop"}]},
        {"model": "m", "message": {"role": "assistant", "content": TEXT}, "done_reason": "stop"},
        {"code": 0, "message": "ok", "data": body()},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": TEXT}],
            "stop_reason": "end_turn",
        },
        {"candidates": [{"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}]},
        [body()],
        body(reasoning_content=THOUGHT),
    ],
)
def test_answers_of_another_form_are_read(answer):
    assert read_chat(answer) == TEXT


CALL_FAULTS = {
    "length": (body(TEXT[:40], "length"), "cut off", "token limit"),
    "max_tokens": (body(TEXT[:40], "max_tokens"), "cut off", "token limit"),
    "MAX_TOKENS": (body(TEXT[:40], "MAX_TOKENS"), "cut off", "token limit"),
    "model_length": (body(TEXT[:40], "model_length"), "cut off", "token limit"),
    "content_filter": (body(TEXT[:40], "content_filter"), "filtered", "filter"),
    "filter with a word": (body("", "content_filter: SAFETY"), "filtered", "filter"),
    "SAFETY": (body("", "SAFETY"), "filtered", "filter"),
    "refusal": (body("", refusal="I will not."), "refused", "I will not."),
    "refusal among parts": (body([{"type": "refusal", "refusal": "No."}]), "refused", "No."),
    "refusal as the end": (body("No.", "refusal"), "refused", "refused"),
    "tool": (body(None, "tool_calls", tool_calls=[{}]), "empty", "tool"),
    "tool without an end": (body(None, None, tool_calls=[{"id": "a"}]), "empty", "tool"),
    "null": (body(None), "empty", "empty"),
    "empty list": (body([]), "empty", "empty"),
    "an invisible character": (body("\u200b"), "empty", "empty"),
    "dots": (body("..."), "empty", "empty"),
    "tokens alone": (body("<|im_end|>"), "empty", "empty"),
    "null beside reasoning": (body(None, reasoning_content=THOUGHT), "empty", "reader.max_tokens"),
    "empty beside reasoning": (body("", reasoning=THOUGHT), "empty", "switch off reasoning"),
    "reasoning cut off": (
        body(None, "length", reasoning_content=THOUGHT),
        "cut off",
        "reader.max_tokens",
    ),
    "open tag": (body(f"<think>\n{THOUGHT}", "length"), "cut off", "reader.max_tokens"),
    "open tag at the end": (body(f"<think>\n{THOUGHT}"), "empty", "switch off reasoning"),
    "open channel": (body(f"<|channel|>analysis<|message|>{THOUGHT}"), "empty", "reasoning"),
    "closed tag and nothing": (body(f"<think>{THOUGHT}</think>\n"), "empty", "reasoning"),
    "unknown end": (body(TEXT, "bored"), "unfit", "'bored'"),
}


@pytest.mark.parametrize("form", CALL_FAULTS)
def test_a_faulty_answer_is_the_fault_of_its_call(form):
    answer, kind, words = CALL_FAULTS[form]
    with pytest.raises(CallFaultError, match=words) as caught:
        read_chat(answer, purpose="reader")
    assert caught.value.kind == kind


def test_the_fault_of_a_cut_answer_holds_its_text_without_borders():
    with pytest.raises(CallFaultError) as caught:
        read_chat(body(f"Here is the summary:\n{TEXT} And", "length"))
    assert caught.value.partial_text == f"{TEXT} And"
    assert caught.value.is_too_long


ERROR = {"message": "out of order", "code": 502}
ERRORS = {
    "error": {"error": ERROR},
    "error as text": {"error": "out of order"},
    "error in a list": [{"error": ERROR}],
    "object": {"object": "error", "message": "out of order", "code": 50001},
    "detail": {"detail": "out of order"},
    "details": {"detail": [{"loc": ["body"], "msg": "out of order"}]},
    "message": {"message": "out of order"},
    "errors": {"success": False, "errors": [ERROR], "result": None},
    "status of a base": {"base_resp": {"status_code": 1013, "status_msg": "out of order"}},
    "error in a choice": {"choices": [{"error": ERROR, "message": {"content": ""}}]},
    "error beside a text": {**body(TEXT[:9], "error"), "error": ERROR},
}
ENDPOINT_FAULTS = {
    **{form: (answer, "out of order", True) for form, answer in ERRORS.items()},
    "finish error": (body(TEXT[:9], "error"), "broke off the answer", True),
    "abort": (body(TEXT[:9], "abort"), "broke off the answer", True),
    "no choices": ({"choices": []}, "contains no message", True),
    "null choices": ({"choices": None}, "contains no message", True),
    "nothing": ({}, "contains no message", True),
    "a number": (7, "contains no message", True),
    "page": ("<html><title>502 Bad Gateway</title></html>", "502 Bad Gateway", True),
    "no body": ("", "an empty body", True),
    "not JSON": ("not at all", "not JSON", True),
    "money": ({"error": {"message": "Insufficient credits", "code": 402}}, "pay the", False),
    "quota": ({"error": {"message": "no", "type": "insufficient_quota"}}, "pay the", False),
    "rate": ({"error": {"message": "Rate limit reached", "code": 429}}, "Rate limit", True),
    "nested": (
        {"error": {"message": "Provider returned error", "metadata": {"raw": '{"error":"full"}'}}},
        "Provider returned error: .*full",
        True,
    ),
}


@pytest.mark.parametrize("form", ENDPOINT_FAULTS)
def test_an_error_in_place_of_an_answer_is_the_endpoints_and_says_its_words(form):
    answer, words, retryable = ENDPOINT_FAULTS[form]
    with pytest.raises(FaultError, match=words) as caught:
        read_chat(answer)
    assert not isinstance(caught.value, CallFaultError)
    assert (caught.value.meaning != "stop") is retryable


def test_the_words_of_the_provider_come_first_and_complete_without_the_key():
    message = "The provider explains at length. " * 30 + "Key: secret."
    with pytest.raises(FaultError) as caught:
        read_chat({"error": {"message": message}}, "secret")
    assert caught.value.reason.startswith(message.replace("secret", "[key]"))


def test_usage_that_is_missing_is_estimated():
    assert read_usage(body("abcdef"), 10).tokens == 12
    counted = {**body(), "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    assert read_usage(counted, 10).tokens == 7
