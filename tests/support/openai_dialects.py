"""How other servers differ from OpenAI's: what each refuses that its own clients never send.

Each is a ``refuse`` of ``FakeOpenAI``. Only what differs is played; answers are the stand-in's.
"""

from __future__ import annotations

import json

from support.openai_faults import Fault
from support.openai_server import Seen

AZURE_KEY = "azure-key-123"


def azure_v1(seen: Seen) -> Fault | None:
    """Azure's v1 API: OpenAI's paths under ``/openai/v1``; no version."""
    headers = {name.lower(): value for name, value in seen.headers.items()}
    if AZURE_KEY not in (headers.get("api-key"), seen.token):
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
