"""Milliseconds of a search on the handbook with and without spans that are sent over OTLP.

Two processes take turns question by question, so that a busy machine slows both alike. One sends
its spans to a receiver on the loopback, which drops them. The first round is dropped, too.

    python benchmarks/tracing.py [--rounds 10]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import print_head, print_row

from raptor_core import tracing
from raptor_core.home import HomeRetriever

EXAMPLES = Path(__file__).parents[1] / "examples"
COMMAND = "from raptor_assets.cli import main; main()"
RECEIVER = """
import sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()  # until the benchmark ends
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--search", metavar="HOME", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.search:
        answer_lines(arguments.search)
    else:
        measure(arguments.rounds)


def answer_lines(home: str) -> None:
    """Search for the question in each line of the input, and print the milliseconds."""
    tracing.set_up()
    retriever = HomeRetriever(home)
    for line in sys.stdin:
        begin = time.perf_counter()
        retriever.search(line.strip())
        print(1000 * (time.perf_counter() - begin), flush=True)


def measure(n_rounds: int) -> None:
    """Build the handbook, ask both processes in turns, and print the table."""
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    receiver = start([sys.executable, "-c", RECEIVER], {})
    sent = {
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.stdout.readline().strip()}",
    }
    with tempfile.TemporaryDirectory(prefix="tracing-") as home:
        build = ["build", str(EXAMPLES / "handbook"), "--home", home]
        subprocess.run([sys.executable, "-c", COMMAND, *build], check=True, capture_output=True)
        search = [sys.executable, __file__, "--search", home]
        searches = {"off": start(search, {}), "on": start(search, sent)}
        taken = {name: [] for name in searches}
        for number in range(n_rounds + 1):
            for at, question in enumerate(questions):
                for name in sorted(searches, reverse=at % 2 == 1):
                    milliseconds = ask(searches[name], question)
                    if number:
                        taken[name].append(milliseconds)
        for process in (*searches.values(), receiver):
            process.communicate()
    show(taken)


def start(command: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env={**os.environ, **environ}, **pipes)


def ask(process: subprocess.Popen[str], question: str) -> float:
    process.stdin.write(f"{question}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def show(taken: dict[str, list[float]]) -> None:
    """Print the median of each, and the ratios to the same questions without spans."""
    ratios = [on / off for off, on in zip(taken["off"], taken["on"], strict=True)]
    print_head("spans", "p50 ms", "p50 / p50 off", "median ratio of pairs")
    base = statistics.median(taken["off"])
    for name, values in taken.items():
        p50, ratio = statistics.median(values), statistics.median(ratios) if name == "on" else 1
        print_row(name, f"{p50:.2f}", f"{p50 / base:.3f}", f"{ratio:.3f}")


if __name__ == "__main__":
    main()
