"""Runs of data are left out of chunks and named; prose, numbers, hashes and paths stay."""

import base64
import hashlib
import json
import random

import pytest

from raptor_core.checks.document_text import find_odd_text
from raptor_core.chunking import make_chunker
from raptor_core.documents.base import Document
from raptor_core.documents.data_runs import find_data_runs
from raptor_core.settings.models import ChunkingSettings, EmbedderSettings, TokensSettings
from raptor_core.tokens import make_counter

COUNTER = make_counter(TokensSettings(), EmbedderSettings())
BYTES = random.Random(7).randbytes(3_000)
BASE64 = base64.b64encode(BYTES).decode()
OPENING = "The lamp of the lighthouse was trimmed at dusk, and the keeper wrote it down."
END = "In the morning the oil was measured again, and nothing was missing."
SCRIPT = "".join(f'function f{n}(a,b){{return a.x{n}&&b("k{n}")||{n}}};' for n in range(30))
STYLE = "".join(f".c{n}{{margin:0 auto;top:{n}px;left:1px}}" for n in range(30))

RUNS = {
    "picture in Markdown": f"![lamp](data:image/png;base64,{BASE64})",
    "short picture": f"![lamp](data:image/gif;base64,{BASE64[:64]})",
    "picture in HTML": f'<img src="data:image/jpeg;base64,{BASE64}"/>',
    "percent-encoded picture": "(data:image/svg+xml;utf8,%3Csvg%20width=%2210%22%20id=%22l%22%3E)",
    "certificate": f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(BYTES).decode()}",
    "field of a record": f'{{"blob":"{BASE64}"}}',
    "token of a web service": base64.urlsafe_b64encode(BYTES[:300]).decode(),
    "hexadecimal": BYTES[:150].hex(),
    "minified script": SCRIPT,
    "minified style": STYLE,
    "compact records": json.dumps([{"n": n, "v": n / 7} for n in range(60)], separators=(",", ":")),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_run_of_data_is_in_no_chunk_and_costs_no_tokens(run):
    text = f"# Lamp\n\n{OPENING}\n\n{run}\n\n{END}"
    chunks = make_chunker(ChunkingSettings(), COUNTER).chunk(Document("a.md", text))
    assert [chunk.text for chunk in chunks] == [text[c.start : c.end] for c in chunks]
    joined = "\n".join(chunk.text for chunk in chunks)
    assert OPENING in joined
    assert END in joined
    assert len(joined) < len(OPENING) + len(END) + 60
    assert sum(chunk.n_tokens for chunk in chunks) < 80
    odd = find_odd_text(Document("a.md", text))
    assert odd is not None
    assert "encoded data or minified code" in odd.reason


WORDS = {
    "prose": OPENING * 40,
    "hashes": " ".join(hashlib.sha512(bytes([n])).hexdigest() for n in range(3)),
    "path": "/".join(["srv", "lamps", "northern-lights", "KeeperOfTheLamp", "logbook2"] * 5),
    "links": ", ".join(f"[Lamp {n}](https://lamps.example/log/{n}.html)" for n in range(40)),
    "columns of numbers": "\n".join(f"19{n} {n * 7 % 89} {n * 5 % 83} {n}" for n in range(10, 90)),
    "row of numbers": " ".join(str(n % 90 + 10) for n in range(300)),
    "contents": "\n".join(f"Lamp {n} {'.' * 90} {n}" for n in range(40)),
    "rules": f"{'-' * 700}\n\n{'=' * 700}\n\n{'_' * 700}",
    "endless word": "x" * 5_000,
    "Chinese": "灯塔的看守人每天傍晚都要点灯，" * 60,
    "Thai": "ผู้ดูแลประภาคารจุดตะเกียงทุกเย็นและจดบันทึกไว้" * 60,
    "table": "| lamp | oil |\n" * 200,
}


@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS)
def test_text_that_a_person_may_read_is_no_run_of_data(text):
    assert not find_data_runs(text)


def test_a_document_of_nothing_but_data_is_cut_within_the_limit():
    chunks = make_chunker(ChunkingSettings(), COUNTER).chunk(Document("a.txt", BASE64))
    assert "".join(chunk.text for chunk in chunks) == BASE64
    assert max(chunk.n_tokens for chunk in chunks) <= 100
    assert len(chunks) > 5


def test_an_unknown_word_counts_as_its_parts_do_together():
    word = "ก" * 400
    (whole,) = COUNTER.count([word])
    assert whole == 100
    assert sum(COUNTER.count([word[:200], word[200:]])) == whole
    assert COUNTER.count([f"data:image/png;base64,{BASE64}"])[0] > len(BASE64) / 5


def test_a_document_in_a_script_that_the_model_does_not_know_is_doubted_with_a_remedy():
    thai = "ผู้ดูแลประภาคารจุดตะเกียงทุกเย็น และจดบันทึกไว้ในสมุด " * 20
    odd = find_odd_text(Document("a.md", thai), COUNTER.unknown_share)
    assert odd is not None
    assert "embedder.model" in odd.reason
    assert "multilingual-e5-small" in odd.reason
    assert find_odd_text(Document("a.md", OPENING * 9), COUNTER.unknown_share) is None
    assert find_odd_text(Document("a.md", thai)) is None


@pytest.mark.parametrize("quote", ['"', "'"])
def test_an_address_in_quotes_is_data_until_its_closing_quote(quote):
    inner = "'" if quote == '"' else '"'
    drawing = f"<svg viewBox={inner}0 0 9 9{inner}><path d={inner}M0 0h9v9z{inner}/></svg>"
    address = f"{quote}data:image/svg+xml;utf8,{drawing}{quote}"
    text = f"A lamp {address} burns."
    (span,) = find_data_runs(text)
    assert text[span[0] : span[1]].strip() == address
