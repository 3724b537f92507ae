"""Requests and answers against Qdrant's published OpenAPI description.

``qdrant_openapi.json`` is that description reduced to our routes; ``qdrant_openapi.py`` makes it.
"""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

from jsonschema import Draft202012Validator, FormatChecker

DESCRIPTION = json.loads(Path(__file__).with_name("qdrant_openapi.json").read_text("utf-8"))
_PATHS = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in DESCRIPTION["routes"]}


def route(method, path):
    """The route of the description that a request takes; None where it has none."""
    for known, pattern in _PATHS.items():
        if pattern.fullmatch(path) and method.lower() in DESCRIPTION["routes"][known]:
            return known
    return None


def wrong_request(method, path, body):
    """What a request has wrong, in words; empty where it is as described."""
    bare, _, query = path.partition("?")
    known = route(method, bare)
    if known is None:
        return f"{method} {bare} is not in the description"
    found = DESCRIPTION["routes"][known][method.lower()]
    given = dict(parse_qsl(query))
    for name, text in given.items():
        if name not in found["parameters"]:
            return f"{method} {known} takes no parameter {name}"
        told = _wrong(("parameters", name, "schema"), known, method, _value(text))
        if told:
            return f"{method} {known}, parameter {name}: {told}"
    if found["body"] is None:
        return f"{method} {known} takes no body" if body else ""
    told = _wrong(("body",), known, method, body)
    return told and f"{method} {known}: {told}"


def wrong_answer(method, path, body):
    """What an answer with status 200 has wrong; empty where it is as described."""
    known = route(method, path.partition("?")[0])
    told = _wrong(("answer",), known, method, body) if known else ""
    return told and f"answer to {method} {known}: {told}"


def _value(text):
    """A parameter as JSON would have it."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isdigit() else text


def _wrong(place, known, method, value):
    error = next(_validator(known, method.lower(), *place).iter_errors(value), None)
    if error is None:
        return ""
    while error.context:  # of several forms, the one that came nearest
        error = max(error.context, key=lambda one: len(one.absolute_path))
    return f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"


@cache
def _validator(known, method, *place):
    schema = DESCRIPTION["routes"][known][method]
    for step in place:
        schema = schema[step]
    whole = {**schema, "schemas": DESCRIPTION["schemas"]}
    return Draft202012Validator(whole, format_checker=FormatChecker(["uuid"]))
