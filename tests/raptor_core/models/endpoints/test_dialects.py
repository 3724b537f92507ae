"""Servers of docs/endpoints.md, as they differ at the wire, by the settings of that page."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from support.endpoint_clients import ask
from support.openai_faults import Fault
from support.openai_server import Seen
from support.word_counter import WordCounter

from raptor_core.audit.base import NamedText, SummaryToAudit
from raptor_core.audit.llm import LlmJudge
from raptor_core.models.embedding.openai import OpenAIEmbedder
from raptor_core.models.endpoints.client import EndpointClient
from raptor_core.models.summarizing.base import Summary, SummaryRequest
from raptor_core.models.summarizing.chat import ChatSummarizer
from raptor_core.retrying import RetryPolicy
from raptor_core.settings import Settings

AZURE_KEY = "azure-key-123"


def azure_v1(seen: Seen) -> Fault | None:
    """Azure's v1 API: OpenAI's paths under ``/openai/v1``; no version."""
    if seen.token != AZURE_KEY:
        return Fault.error(401, "Access denied due to invalid subscription key.")
    return None if seen.path.startswith("/openai/v1/") else Fault.error(404, "Not found")


def reasoning_model(seen: Seen) -> Fault | None:
    """A newer model of OpenAI: neither ``max_tokens`` nor a temperature."""
    if "max_tokens" in seen.body:
        return Fault.error(
            400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        )
    if seen.body.get("temperature", 1) != 1:
        return Fault.error(400, "Unsupported value: 'temperature' does not support 0.0.")
    return None


def plain_server(seen: Seen) -> Fault | None:
    """An older or simple server: no JSON schema, no base64, no newer names."""
    if seen.body.get("response_format", {}).get("type") == "json_schema":
        return Fault.error(400, "response_format.type must be json_object or text")
    if seen.body.get("encoding_format", "float") != "float":
        return Fault.error(422, "unknown encoding_format 'base64'")
    if "max_completion_tokens" in seen.body:
        return Fault.error(400, "unknown field max_completion_tokens")
    return None


def gemma_template(seen: Seen) -> Fault | None:
    """A model whose template has no system role, as llama.cpp and vLLM say it."""
    if seen.body.get("messages", [{}])[0].get("role") == "system":
        return Fault.error(500, "Jinja Exception: System role not supported")
    return None


def strict_fields(seen: Seen) -> Fault | None:
    """A server behind a validation that knows only the model and the messages."""
    extra = sorted(set(seen.body) - {"model", "messages", "input"})
    if extra:
        detail = [
            {
                "type": "extra_forbidden",
                "loc": ["body", extra[0]],
                "msg": "Extra inputs are not permitted",
            }
        ]
        return Fault(status=422, raw=json.dumps({"detail": detail}).encode())
    return None


ONCE = RetryPolicy(max_retries=0)
DOC = Path(__file__).parents[4] / "docs/endpoints.md"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", AZURE_KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")


def settings_under(title):
    """The settings that the document shows under a heading."""
    text = DOC.read_text(encoding="utf-8")
    section = text.split(f"\n### {title}\n", 1)[1].split("\n### ")[0].split("\n## ")[0]
    (block,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    return tomllib.loads(block)


def settings_of(title, server):
    """Those settings, pointed at the stand-in; everything but the host is kept."""
    values = settings_under(title)
    root = server.base_url.removesuffix("/v1")
    for part in values.values():
        if "base_url" in part:
            part["base_url"] = re.sub(r"^https?://[^/]+", root, part["base_url"])
    return Settings.model_validate(values)


def summary(settings):
    request = SummaryRequest(
        "key", "node", ("One speaks.", "Two answers."), (2, 2), np.eye(2, dtype=np.float32)
    )
    (answer,) = ChatSummarizer(settings.summarizer, WordCounter(), ONCE).summarize([request])
    return answer


def vectors(settings):
    return OpenAIEmbedder(settings.embedder, ONCE).embed(["one", "two"])


def judged(settings, server):
    server.answer = lambda _body: '{"unsupported": []}'
    judge = LlmJudge(settings.audit, policy=ONCE)
    node = SummaryToAudit(NamedText("s", "A statement."), (NamedText("c", "A statement."),))
    return judge.judge([node])[0][0].judgement


def test_azures_v1_api_is_openais_with_another_key(server):
    server.refuse = azure_v1
    settings = settings_of("Azure, v1 API", server)
    assert isinstance(summary(settings), Summary)
    assert vectors(settings).shape == (2, 8)


def summarizer_at(server, **values):
    return Settings.model_validate(
        {"summarizer": {"kind": "openai", "model": "m", "base_url": server.base_url, **values}}
    )


@pytest.mark.parametrize(
    ("refuse", "n_refused", "absent"),
    [
        (reasoning_model, 2, {"max_tokens", "temperature"}),
        (strict_fields, 4, {"max_tokens", "temperature", "stream", "stream_options"}),
    ],
)
def test_a_refused_field_is_left_out_from_then_on(server, refuse, n_refused, absent):
    server.refuse = refuse
    settings = summarizer_at(server)
    assert isinstance(summary(settings), Summary)
    assert server.n_requests == n_refused + 1
    assert not absent & set(server.bodies[-1])


def test_a_model_without_a_system_role_gets_the_system_text_from_the_user(server):
    server.refuse = gemma_template
    client = EndpointClient(summarizer_at(server).summarizer, ONCE)
    assert client.chat(ask()).text
    assert client.chat(ask()).text
    assert [len(body["messages"]) for body in server.bodies] == [2, 1, 1]
    assert server.bodies[1]["messages"] == [{"role": "user", "content": "Be brief.\n\nSome text."}]


def test_a_lesson_is_learnt_by_all_clients_of_an_endpoint(server):
    server.refuse = reasoning_model
    endpoint = summarizer_at(server).summarizer
    first, second = EndpointClient(endpoint, ONCE), EndpointClient(endpoint, ONCE)
    first.chat(ask())
    second.chat(ask())
    assert server.n_requests == 4


def test_a_refused_form_of_answers_is_asked_for_in_the_prompt(server):
    server.refuse = plain_server
    settings = Settings.model_validate({"audit": {"judge": "llm", "base_url": server.base_url}})
    assert judged(settings, server) == "supported"
    first, second = server.bodies
    assert "response_format" not in second
    assert second["messages"][0]["content"].startswith(first["messages"][0]["content"])
    assert '"unsupported"' in second["messages"][0]["content"]
