"""Reduces Qdrant's published OpenAPI description to the routes that this program uses.

    python tests/support/qdrant_openapi.py openapi.json > tests/support/qdrant_openapi.json

``openapi.json`` is docs/redoc/master/openapi.json of github.com/qdrant/qdrant (Apache-2.0). Kept
are parameters, bodies and answers as JSON Schema; sentences for readers go. An object that lists
its properties has no others here: a server passes over a name that it does not know, and a test
must not.
"""

import json
import sys
from pathlib import Path

ROUTES = {
    "/aliases": ["get"],
    "/collections": ["get"],
    "/collections/aliases": ["post"],
    "/collections/{collection_name}": ["get", "put", "delete"],
    "/collections/{collection_name}/exists": ["get"],
    "/collections/{collection_name}/index": ["put"],
    "/collections/{collection_name}/points": ["post"],
    "/collections/{collection_name}/points/batch": ["post"],
    "/collections/{collection_name}/points/count": ["post"],
    "/collections/{collection_name}/points/query/batch": ["post"],
    "/collections/{collection_name}/points/scroll": ["post"],
}
TOLD = {"description", "summary", "title", "example", "examples", "deprecated", "discriminator"}
REF = "#/components/schemas/"
JSON = "application/json"


def reduced(schema, named=False):
    """A schema without sentences, in JSON Schema's terms; ``named`` for a map of schemas."""
    if isinstance(schema, list):
        return [reduced(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if named:
        return {name: reduced(value) for name, value in schema.items()}
    kept = {
        key: reduced(value, named=key == "properties")
        for key, value in schema.items()
        if key not in {*TOLD, "nullable", "default"}
    }
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace(REF, "#/schemas/")
    if "properties" in kept and "additionalProperties" not in kept:
        kept["additionalProperties"] = False
    if not schema.get("nullable"):
        return kept
    return {"anyOf": [kept, {"type": "null"}]} if kept else {"type": "null"}


def operation(found):
    """Parameters, body and answer of one operation."""
    body = found.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema")
    answer = found["responses"]["200"]["content"][JSON]["schema"]
    return {
        "parameters": {
            one["name"]: {"required": bool(one.get("required")), "schema": reduced(one["schema"])}
            for one in found.get("parameters", ())
            if one["in"] == "query"
        },
        "body": None if body is None else reduced(body),
        "answer": reduced(answer),
    }


def references(value):
    if isinstance(value, dict):
        own = value.get("$ref")
        yield from [own.rpartition("/")[2]] if isinstance(own, str) else []
        for inner in value.values():
            yield from references(inner)
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def description(published):
    """The reduced description of the published one."""
    routes = {
        path: {verb: operation(published["paths"][path][verb]) for verb in verbs}
        for path, verbs in ROUTES.items()
    }
    schemas, wanted = {}, set(references(routes))
    while wanted:
        name = wanted.pop()
        schemas[name] = reduced(published["components"]["schemas"][name])
        wanted |= set(references(schemas[name])) - schemas.keys()
    return {
        "made_by": "tests/support/qdrant_openapi.py",
        "origin": "github.com/qdrant/qdrant, docs/redoc/master/openapi.json, Apache-2.0",
        "routes": routes,
        "schemas": dict(sorted(schemas.items())),
    }


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(description(given), separators=(",", ":"), sort_keys=True) + "\n")
