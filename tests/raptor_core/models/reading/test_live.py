"""An answer is shown piece by piece while it is written, and no piece has to be taken back."""

import threading

import pytest
from support.raw_server import RawServer
from support.streams import DONE, HEAD, USAGE, event

from raptor_core.errors import AnswerError, EndpointError
from raptor_core.models.reading.live import LiveText
from raptor_core.models.reading.reader import Passage, Reader, StreamingReader
from raptor_core.retrying import RetryPolicy
from raptor_core.settings.models import ReaderSettings

RAW = {
    "One [3], two [2][3] and [1, 2].": "One [1], two [2][1] and [3][2].",
    "<think>Not [1] this.</think>\n\nBut this [2].": "But this [1].",
    "Read `lamps[2]` and [4]. Then `x": "Read `lamps[2]` and [1]. Then `x",
    "Code:\n\n```python\nlamps[1] = rows[2]\n```\n\nSo [4].": (
        "Code:\n\n```python\nlamps[1] = rows[2]\n```\n\nSo [1]."
    ),
    "If a < b, then [2].<|im_end|>": "If a < b, then [1].",
    "Done [1]<|im_end|>\n<|im_start|>user\nAnd why?": "Done [1]",
    "灯塔看守人【2】，油灯。": "灯塔看守人[1]，油灯。",
    "See [the page][1] and [2](https://x.org/), or [9].": (
        "See [the page][1] and [2](https://x.org/), or [9]."
    ),
}


@pytest.mark.parametrize("raw", RAW)
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_pieces_are_the_answer_wherever_the_stream_is_cut(raw, step):
    pieces = []
    live = LiveText([1, 2, 3, 4], pieces.append)
    for end in range(step, len(raw) + step, step):
        live.update(raw[:end])
    live.end(raw)
    assert "".join(pieces) == RAW[raw]
    assert step > 3 or len(pieces) > 1


def test_reasoning_that_only_its_end_gives_away_stays_apart_from_the_answer():
    pieces, raw = [], "Let me think about this one.</think>\n\nIt is so."
    live = LiveText([1], pieces.append)
    for end in range(1, len(raw) + 1):
        live.update(raw[:end])
    live.end("It is so.")
    assert "".join(pieces).endswith("\n\nIt is so.")


PASSAGES = tuple(Passage(f"Fact {n}.", f"node-{n}", ("a.md",)) for n in range(1, 5))


def stream(*events, n_paced=0):
    """Pieces and answer of a reader whose endpoint sends these events.

    After each of the first ``n_paced`` events it waits until a piece was shown.
    """
    pieces, shown = [], threading.Semaphore(0)

    def reply(connection, _request):
        connection.sendall(HEAD)
        for at, each in enumerate(events):
            connection.sendall(each)
            if at < n_paced:
                shown.acquire(timeout=30)

    def show(piece):
        pieces.append(piece)
        shown.release()

    with RawServer(reply) as server:
        given = ReaderSettings(base_url=f"{server.origin}/v1", api_key_env="PLANTED_KEY")
        reader = Reader(given, RetryPolicy(max_retries=2, base_seconds=0.001))
        assert isinstance(reader, StreamingReader)
        try:
            answer = reader.stream("Why?", PASSAGES, show, threading.Event())
        except EndpointError as error:
            answer = error
        return pieces, answer, len(server.requests)


def test_a_piece_is_shown_before_the_next_one_comes():
    events = [event("Tom did "), event("it, says "), event("[3] here", "stop"), USAGE, DONE]
    pieces, answer, _ = stream(*events, n_paced=2)
    assert pieces[:2] == ["Tom did", " it, says"]
    assert "".join(pieces) == answer.text == "Tom did it, says [1] here"
    assert (answer.citations, answer.cut_off) == ((PASSAGES[2],), False)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 3)


def test_an_answer_that_was_shown_in_part_is_kept_when_cut_off_and_never_asked_for_again():
    pieces, answer, n_requests = stream(event("Tom did "), event("it", "length"), DONE)
    assert ("".join(pieces), answer.text, answer.cut_off) == ("Tom did it", "Tom did it", True)
    assert n_requests == 1
    pieces, error, n_requests = stream(event("Tom did it, "), event("says"))
    assert "".join(pieces) == "Tom did it,"
    assert "ended in the middle" in str(error)
    assert n_requests == 1


def test_an_answer_of_which_nothing_was_shown_is_asked_for_again():
    pieces, error, n_requests = stream(event("", "stop"), DONE)
    assert (pieces, isinstance(error, AnswerError), n_requests) == ([], True, 3)
