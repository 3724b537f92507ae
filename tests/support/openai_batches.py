"""The batch endpoint of the stand-in: files, batches, and their answers."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.openai_faults import Fault
from support.openai_server import Body, FakeOpenAI, Seen, completion


@dataclass
class FakeBatches:
    """A ``more`` of ``FakeOpenAI``; keeps files and batches in memory.

    A batch is over at its ``polls``-th look, as ``status``. ``fault`` says how a single request
    fails: with a status it comes in the error file, cut off it is left out of both. So many
    answers to new batches as ``loses`` says are lost on the way, after the batch is begun.
    """

    server: FakeOpenAI
    polls: int = 1
    status: str = "completed"
    fault: Callable[[Body], Fault | None] = lambda _body: None
    loses: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    answered: list[Body] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.server.more = self

    def __call__(self, method: str, seen: Seen, sent: bytes) -> bytes | Fault | None:
        if not re.match(r"/v1/(files|batches)", seen.path):
            return None
        with self._lock:
            answer = self._answer(method, seen, sent)
            if (method, seen.path) == ("POST", "/v1/batches") and self.loses:
                self.loses -= 1
                return Fault.cut_connection()
            return answer

    def _answer(self, method: str, seen: Seen, sent: bytes) -> bytes | Fault:
        parts = seen.path.strip("/").split("/")[1:]
        if (method, parts) == ("POST", ["files"]):
            return _json(self._file(_uploaded(sent)))
        if (method, parts) == ("POST", ["batches"]):
            return self._begin(seen.body)
        if (method, parts) == ("GET", ["batches"]):
            newest = list(self.batches.values())[::-1]
            return _json({"object": "list", "data": newest, "has_more": False})
        if parts[0] == "batches" and parts[1] in self.batches:
            return _json(self._look(self.batches[parts[1]]))
        if parts[0] == "files" and parts[-1] == "content" and parts[1] in self.files:
            return self.files[parts[1]]
        return Fault.error(404, "no such object")

    def _file(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return {
            "id": name,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": "requests.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def _begin(self, body: Body) -> bytes | Fault:
        if body.get("completion_window") != "24h" or body["input_file_id"] not in self.files:
            return Fault.error(400, "a batch needs an input file and a window of 24h")
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": body["endpoint"],
            "input_file_id": body["input_file_id"],
            "completion_window": "24h",
            "status": "validating",
            "created_at": int(time.time()),
            "metadata": body.get("metadata"),
        }
        return _json(self.batches[name])

    def _look(self, batch: dict[str, Any]) -> dict[str, Any]:
        self.looks += 1
        batch["looks"] = batch.get("looks", 0) + 1
        if "output_file_id" in batch or batch["looks"] < self.polls:
            return batch
        batch["status"] = self.status
        if self.status == "failed":
            errors = [{"code": "invalid", "message": "line 1 is no request", "line": 1}]
            batch["errors"] = {"object": "list", "data": errors}
            return batch
        good, bad = self._run(self.files[batch["input_file_id"]])
        batch["output_file_id"] = self._file(b"".join(good))["id"]
        if bad:
            batch["error_file_id"] = self._file(b"".join(bad))["id"]
        return batch

    def _run(self, content: bytes) -> tuple[list[bytes], list[bytes]]:
        good: list[bytes] = []
        bad: list[bytes] = []
        for line in map(json.loads, content.splitlines()):
            body = line["body"]
            fault = self.fault(body) or Fault()
            if fault.cut:
                continue
            self.answered.append(body)
            failed = fault.status >= 400
            given = {"error": {"message": fault.message}} if failed else None
            answer = given or completion(self.server, body, fault)
            response = {"status_code": fault.status, "request_id": "r", "body": answer}
            row = {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}
            (bad if failed else good).append(_json(row) + b"\n")
        return good[::-1], bad  # in another order than asked


def _uploaded(sent: bytes) -> bytes:
    """The file in a multipart form."""
    boundary = sent.split(b"\r\n", 1)[0]
    for part in sent.split(boundary):
        head, _, content = part.partition(b"\r\n\r\n")
        if b"filename=" in head:
            return content.removesuffix(b"\r\n")
    raise AssertionError("no file in the form")


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
