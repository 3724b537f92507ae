"""A model that lies in every tenth summary: which lies the judges catch, and what follows.

    python benchmarks/hallucinations.py examples/handbook
    python benchmarks/hallucinations.py papers.jsonl --action quarantine

An HTTP server on the loopback speaks the chat protocol in place of a model: it abridges the
sources and puts a false number and a false name into every tenth summary. The documents are built
with it through Dagster, all summaries audited. For every judge that needs no endpoint:

    caught     lying summaries with an unsupported sentence, of all lying ones (recall)
    right      such summaries that do lie, of all of them (precision)
    sentence   lying summaries of which the lying sentence itself was found

A summary over one that lies repeats its lie: its children hold it, so it counts as true. With
``--action``, what readers then find of the lies: none in "quarantine", none after "resummarize",
and no tree at all with "block".
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from raptor_assets.project.home import Home
from raptor_assets.project.resources import Resources
from raptor_assets.report import read_findings
from raptor_assets.standalone.execute import BuildReport, build
from raptor_core import Settings
from raptor_core.chunking.sentences import sentences
from raptor_core.nodes import Node

EVERY = 10
WORDS = 80
FORENAMES = ("Marguerite", "Anselm", "Ottoline", "Bartholomew", "Sunniva", "Caspian")
SURNAMES = ("Hollowell", "Brandvold", "Quennell", "Achterberg", "Larkspur", "Montcrieff")
_CONTEXT = re.compile(r"key details as possible: (.*):(?:\n\nWrite at most|\Z)", re.DOTALL)


@dataclass
class Liar:
    """The model. ``lies`` are the names that it made up, by the summary they stand in."""

    lies: dict[str, str] = field(default_factory=dict)
    n_answers: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, question: str) -> str:
        """An abridgement of the sources; the truth where the question objects to a lie."""
        found = _CONTEXT.search(question)
        told = abridged(found[1] if found else question)
        with self._turn:
            self.n_answers += 1
            if self.n_answers % EVERY or "does not support" in question:
                return " ".join(told)
            rng = random.Random(self.n_answers)
            at = rng.randrange(len(told))
            name = f"{rng.choice(FORENAMES)} {rng.choice(SURNAMES)}"
            told[at] = lie(told[at], str(rng.randrange(1100, 9900)), name)
            text = " ".join(told)
            self.lies[text] = name
            return text


def abridged(context: str) -> list[str]:
    """The first sentence of each source, then the second ones, up to ``WORDS`` words."""
    parts = [
        [part[a:b].replace("\n", " ") for a, b in sentences(part)] for part in context.split("\n\n")
    ]
    kept: list[str] = []
    for turn in range(max(map(len, parts))):
        for part in parts:
            if turn < len(part) and sum(len(s.split()) for s in [*kept, part[turn]]) <= WORDS:
                kept.append(part[turn])
    return kept or [" ".join(context.split()[:WORDS])]


def lie(sentence: str, number: str, name: str) -> str:
    """The sentence with another number, or with one where it had none, and a name nobody bears."""
    changed = re.sub(r"\d+(?:[.,]\d+)*", number, sentence, count=1)
    if changed == sentence:
        changed = f"{sentence.rstrip('.!?:')}, {number} in all"
    return f"{changed.rstrip('.!?:')}, as {name} had foretold."


class Handler(BaseHTTPRequestHandler):
    """One chat completion."""

    protocol_version = "HTTP/1.1"
    liar: Liar

    def do_POST(self) -> None:
        """Answer, or fail as a defect of this script."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = body["messages"][-1]["content"]
        text = self.liar.answer(question)
        message = {"role": "assistant", "content": text}
        answer = {
            "id": "liar",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": len(question) // 4,
                "completion_tokens": len(text) // 4,
                "total_tokens": (len(question) + len(text)) // 4,
            },
        }
        payload = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_arguments: object) -> None:
        """Keep the output to the figures."""


def settings_for(source: Path, url: str, judge: str, action: str) -> Settings:
    """All summaries by the liar, all audited."""
    return Settings.model_validate(
        {
            "source": {"paths": [str(source.resolve())], "settle_seconds": 0},
            "summarizer": {"kind": "openai", "model": "liar", "base_url": url},
            "checks": {"audit_rate": 1.0, "max_unsupported": 0.0},
            "audit": {"judge": judge, "on_unsupported": action},
        }
    )


def run(source: Path, home: Path, judge: str, action: str) -> tuple[BuildReport, Liar, Settings]:
    """Build with a liar of its own."""
    liar = Liar()
    handler = type("LiarHandler", (Handler,), {"liar": liar})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        settings = settings_for(source, url, judge, action)
        report = build(Home(home), settings)
        server.shutdown()
    return report, liar, settings


def figures(home: Path, liar: Liar, settings: Settings) -> str:
    """One line on what the judge found."""
    resources = Resources(settings, Home(home))
    with resources.store.open() as store:
        manifests = store.manifests()
        nodes: dict[str, Node] = {n.id: n for n in store.nodes() if not n.is_leaf}
    tables = resources.tables
    layers = range(1, settings.tree.max_layers + 1)
    findings = [
        finding
        for manifest in manifests
        for finding in read_findings(tables, manifest.tree, layers) or ()
    ]
    accused = {f.node_id for f in findings if f.judgement == "unsupported"}
    named = [f for f in findings if f.judgement == "unsupported"]
    lying = {node.id for node in nodes.values() if node.text in liar.lies}
    hit = accused & lying
    found = sum(
        any(f.node_id == at and liar.lies[nodes[at].text] in f.sentence for f in named)
        for at in lying
    )
    return (
        f"{len(nodes)} summaries, {len(lying)} lie: caught {len(hit)} "
        f"({len(hit) / max(len(lying), 1):.0%}), right {len(hit)} of {len(accused)} accused "
        f"({len(hit) / max(len(accused), 1):.0%}), sentence {found}"
    )


def aftermath(home: Path, report: BuildReport, liar: Liar, settings: Settings) -> str:
    """One line on what readers find of the lies."""
    with Resources(settings, Home(home)).store.open() as store:
        live = [node for node in store.nodes() if node.text in liar.lies]
        hidden = {at for manifest in store.manifests() for at in manifest.quarantined}
        n_published = len(store.manifests())
    seen = sum(node.id not in hidden for node in live)
    return (
        f"{len(report.failed)} partitions refused, {n_published} trees published, with "
        f"{len(live)} lying summaries, {seen} of them found by search; {len(hidden)} in quarantine"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--judge", choices=["support", "overlap"], action="append")
    parser.add_argument(
        "--action", choices=["quarantine", "resummarize", "block"], action="append", default=[]
    )
    arguments = parser.parse_args()
    for judge in arguments.judge or ["overlap", "support"]:
        with tempfile.TemporaryDirectory() as folder:
            _, liar, settings = run(arguments.source, Path(folder), judge, "report")
            sys.stdout.write(f"{judge}: {figures(Path(folder), liar, settings)}\n")
    for action in arguments.action:
        with tempfile.TemporaryDirectory() as folder:
            report, liar, settings = run(arguments.source, Path(folder), "support", action)
            told = aftermath(Path(folder), report, liar, settings)
            sys.stdout.write(f"{action}: {told}\n")


if __name__ == "__main__":
    main()
