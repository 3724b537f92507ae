"""A stand-in for a reranker: a real HTTP server on the loopback."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeReranker:
    """An endpoint in both shapes, which likes texts with a word; it may answer late or wrongly."""

    def __init__(self, word, answer=None, seconds=0.0):
        self.word, self.answer, self.seconds, self.asked = word, answer, seconds, []

    @contextmanager
    def serving(self):
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers["Content-Length"])
                asked = json.loads(self.rfile.read(length))
                fake.asked.append((self.path, self.headers["Authorization"], asked))
                time.sleep(fake.seconds)
                is_long = len(asked.get("texts", ())) > 32  # the default of TEI
                error = {"error": "batch size > maximum allowed batch size 32"}
                answer = error if is_long else fake.answer or fake.scored(asked)
                body = json.dumps(answer).encode()
                self.send_response(413 if is_long else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    def scored(self, asked):
        texts = asked.get("documents") or asked["texts"]
        scores = [(at, 1.0 if self.word in text else 0.0) for at, text in enumerate(texts)]
        if "texts" in asked:
            return [{"index": at, "score": score} for at, score in reversed(scores)]
        return {"results": [{"index": at, "relevance_score": s} for at, s in reversed(scores)]}
