"""Chat with OpenAI's own client: answers, streams, sources, errors, and clients that leave."""

import json
import socket
from itertools import cycle, repeat

import httpx
import openai
import pytest
from support.command import SMALL_PARTS, Place
from support.processes import wait_until
from support.serving import KEY, served_here
from support.streams import StreamingModel, data

from raptor_assets.serving.chat import StopTextCutter, sources_text
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import ServerKeys
from raptor_assets.serving.values import Citation, CitedSpan
from raptor_core import HomeRetriever

pytestmark = pytest.mark.slow

QUESTION = "Who repaired the pump?"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("chat"))
    place.write("pump.md", "# The pump\n\nAna repaired the pump in March.\n\nIt was sand.")
    place.write("oven.md", "# The *oven*\n\nBen cleaned the oven in May.")
    place.home.mkdir(parents=True)
    link = 'link = "https://wiki.example/{id}#page={page}"'
    place.settings.write_text(f'[source]\npaths = ["{place.docs}"]\n{link}\n{SMALL_PARTS}\n')
    assert place.call("build").code == 0
    return place


@pytest.fixture
def model():
    with StreamingModel("Ana ", "did it ", "[1].") as running:
        yield running


@pytest.fixture
def address(home, model, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    retriever = HomeRetriever(home.home)
    values = {"base_url": model.base_url, "concurrency": 1, "max_retries": 0}
    reader = retriever.settings.reader.model_copy(update=values)
    retriever.settings = retriever.settings.model_copy(update={"reader": reader})
    with served_here(make_app(retriever, ServerKeys(KEY))) as served:
        yield served


@pytest.fixture
def client(address):
    with openai.OpenAI(base_url=f"{address}/v1", api_key=KEY, max_retries=0) as made:
        yield made


def ask(client, *turns, **more):
    roles = cycle(["user", "assistant"])
    pairs = zip(roles, turns or [QUESTION], strict=False)
    messages = [{"role": role, "content": turn} for role, turn in pairs]
    return client.chat.completions.create(model="corpus", messages=messages, **more)


def test_a_corpus_is_a_model_that_answers_with_its_sources(client):
    assert [model.id for model in client.models.list()] == ["corpus"]
    assert client.models.retrieve("corpus").owned_by == "raptor"
    answer = ask(client, temperature=0.2, user="ana")
    (choice,) = answer.choices
    text, _, listed = choice.message.content.partition("\n\nSources:\n")
    assert (text, choice.finish_reason) == ("Ana did it [1].", "stop")
    assert answer.usage.model_dump(exclude_none=True) == {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
    }
    (source,) = answer.raptor_citations
    start, end = source["span"]
    assert source["page"] is None
    assert source["document"] in ("pump.md", "oven.md")
    assert source["link"] == f"https://wiki.example/{source['document']}#page=1"
    assert start < end
    assert source["node"]
    assert listed.startswith("1. [")
    assert listed.endswith(f"]({source['link']})")


def test_the_answer_streams_piece_by_piece_and_ends_with_sources_and_usage(client, model):
    model.is_paced = True
    stream = ask(client, stream=True, stream_options={"include_usage": True})
    texts, chunks = [], []
    for chunk in stream:
        chunks.append(chunk)
        if chunk.choices and chunk.choices[0].delta.content:
            texts.append(chunk.choices[0].delta.content)
        if len(texts) < 3:
            model.next.release()  # only now may the model go on
    assert texts[:2] == ["Ana", " did it"]
    text, _, listed = "".join(texts).partition("\n\nSources:\n")
    assert text == "Ana did it [1]."
    assert listed.startswith("1. ")
    *_, last, usage = chunks
    assert last.choices[0].finish_reason == "stop"
    assert last.raptor_citations[0]["node"]
    assert (usage.choices, usage.usage.total_tokens) == ([], 10)
    assert {chunk.id for chunk in chunks} == {last.id}
    whole = "".join(c.choices[0].delta.content or "" for c in ask_without_pace(client, model))
    assert whole == "".join(texts)


def ask_without_pace(client, model):
    model.is_paced = False
    return list(ask(client, stream=True))


def test_turns_before_the_question_are_its_history_and_lists_of_sources_are_no_turn(client, model):
    first = ask(client).choices[0].message.content
    assert "Sources:" in first
    answer = ask(client, QUESTION, first, "And why?")
    assert answer.choices[0].message.content
    question = model.asked[-1].partition("<question>")[2]
    assert "And why? (" in question
    assert "pump" in question.casefold()
    assert "Sources" not in question
    assert "1" not in question
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "x"}}]
    ask(client, parts)
    assert QUESTION in model.asked[-1]


def test_the_answer_ends_before_a_stop_text_that_lies_across_pieces(client, model):
    model.pieces = ["Ana did ", "it E", "N", "D and more [1]."]
    for stop in (["END"], "END"):
        answer = ask(client, stop=stop)
        assert answer.choices[0].message.content == "Ana did it "
        assert answer.raptor_citations == []
        chunks = list(ask(client, stop=stop, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks) == "Ana did it "
        assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_title_in_the_list_of_sources_is_no_markup():
    values = {"number": 1, "node": "n", "documents": ["a"], "span": None, "pages": []}
    values |= {"is_summary": True, "behind": [], "n_behind": 0}
    place = "x](https://evil) ![y](z) <img> *b*\n2. no (a_b.md:0-9)"
    cited = Citation(place=place, link="https://wiki/a", **values)
    shown = r"x\](https://evil) !\[y\](z) \<img> \*b\* 2. no (a_b.md:0-9)"
    assert sources_text([cited]) == f"\n\nSources:\n1. [{shown}](https://wiki/a)"
    behind = [CitedSpan(document="a_*b*", start=9 * n, end=9 * n + 5) for n in range(4)]
    cited = cited.model_copy(update={"behind": behind, "n_behind": 30})
    spans = r"a_\*b\*:0-5, a_\*b\*:9-14, a_\*b\*:18-23 and 27 more"
    assert sources_text([cited]).endswith(f"](https://wiki/a), made from {spans}")


@pytest.mark.parametrize(
    ("pieces", "stops", "text"),
    [
        (["a", "b", "c"], ["bc"], "a"),
        (["ab", "ab", "c"], ["abc"], "ab"),
        (["abab"], ["abc"], "abab"),
        (["xyz"], ["z", "yz"], "x"),
        (["abc"], [], "abc"),
    ],
)
def test_a_stop_text_is_found_and_nothing_else_is_held_back(pieces, stops, text):
    stopped = StopTextCutter(stops)
    given = [stopped.add_piece(piece) for piece in pieces] + [stopped.add_piece("", is_last=True)]
    assert ("".join(given), stopped.text) == (text, text)
    assert stopped.is_over is (text != "".join(pieces))


def test_errors_are_those_that_the_client_knows(client, model, address):
    with pytest.raises(openai.AuthenticationError) as refused:
        openai.OpenAI(base_url=f"{address}/v1", api_key="wrong").models.list()
    assert refused.value.code == "invalid_api_key"
    with pytest.raises(openai.NotFoundError, match="there are: corpus") as unknown:
        client.models.retrieve("gpt-4o")
    assert unknown.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError) as nowhere:
        client.embeddings.create(model="corpus", input="a")
    assert nowhere.value.code == "NotFoundError"
    for messages in ([], [{"role": "system", "content": "Be kind."}], [{"role": "user"}]):
        with pytest.raises(openai.BadRequestError) as invalid:
            client.chat.completions.create(model="corpus", messages=messages)
        assert invalid.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError, match="n = 1"):
        ask(client, n=2)
    with pytest.raises(openai.BadRequestError, match="at least one word"):
        ask(client, "?!")
    model.ending = (data({"error": {"message": "the model is out", "code": 500}}),)
    with pytest.raises(openai.InternalServerError, match="the model is out"):
        ask(client)
    with pytest.raises(openai.APIError, match="the model is out"):
        list(ask(client, stream=True))


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_in_the_middle_frees_its_turn(client, address, model, stream):
    """One answer at a time is written; a model that never ends would keep everyone waiting."""
    model.pieces = repeat("and ")
    turn = {"role": "user", "content": QUESTION}
    body = json.dumps({"model": "corpus", "messages": [turn], "stream": stream})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    sizes = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as leaving:
        leaving.sendall(f"{head}{sizes}{body}".encode())
        wait_until(lambda: model.asked, [])
    assert model.left.wait(20)
    model.pieces = ["Ana did."]
    assert ask(client).choices[0].message.content == "Ana did."


def events_of(response):
    blocks = response.text.strip().split("\n\n")
    pairs = [block.split("\n") for block in blocks]
    return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in pairs]


def test_an_answer_of_the_api_of_our_own_streams_and_ends_with_what_it_says_at_once(address, model):
    headers, body = {"Authorization": f"Bearer {KEY}"}, {"question": QUESTION}
    plain = httpx.post(f"{address}/ask", json=body, headers=headers).json()
    streamed = httpx.post(f"{address}/ask", json={**body, "stream": True}, headers=headers)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    *pieces, (name, answer) = events_of(streamed)
    assert {name for name, _ in pieces} == {"text"}
    assert len(pieces) > 1
    assert "".join(piece["text"] for _, piece in pieces) == answer["answer"] == plain["answer"]
    assert (name, answer) == ("answer", plain)
    assert plain["citations"][0]["link"].startswith("https://wiki.example/")
    model.ending = (data({"error": {"message": "the model is out", "code": 500}}),)
    failed = httpx.post(f"{address}/ask", json={**body, "stream": True}, headers=headers)
    name, problem = events_of(failed)[-1]
    assert (name, problem["error"]) == ("error", "ReaderError")
