"""No interface shows a caller a word, a name or a number of what the caller may not read."""

import asyncio
import hashlib
import json
from contextlib import contextmanager, nullcontext
from copy import copy
from itertools import cycle

import pytest
from fastapi.testclient import TestClient
from mcp import Client
from support.command import Place, embedder_made_by
from support.hashing import HashingEmbedder
from support.workshop import prose, settings_text

from raptor_assets.local.curate import Author, Curator
from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import KnownCallers, ServerKeys
from raptor_assets.serving.mcp import make_server
from raptor_core import HomeRetriever, Query
from raptor_core.errors import AccessError, CurationError, SettingsError, UnknownTreeError
from raptor_core.integrations import langchain, llama_index

pytestmark = pytest.mark.slow

READERS = {
    "hr/amber.md": "group:hr",
    "hr/basil.md": "[ana, group:hr]",
    "ops/cedar.md": '"*"',
    "ops/daisy.md": "[ben, group:ops]",
    "vault/ebony.md": "",
    "vault/fennel.md": "[ana, ben]",
}
CALLERS = [("ana",), ("group:hr",), ("ben", "group:ops"), ()]
QUESTIONS = ("what is said about the pump", "summarize everything", "ebonyonly3 of ebony")
STRATEGIES = ("hybrid", "collapsed", "collapsed-lexical", "traversal", "flat", "lexical")


def word(name):
    return name.partition("/")[2].removesuffix(".md")


def names_of(declared):
    return set(declared.strip("[]").replace('"', "").replace(",", " ").split())


def hidden_from(readers):
    """Words of the documents that a caller may not read."""
    known = {*readers, "*"} if readers else set()
    return {word(name) for name, declared in READERS.items() if not known & names_of(declared)}


def write(place, name, seed=0):
    mark = word(name)
    lines = (f"The pump {n} of {mark} is {mark}only{n + seed} here." for n in range(6))
    declared = f"readers: {READERS[name]}\n" if READERS[name] else ""
    text = f"---\ntitle: The {mark} plan\n{declared}---\n"
    place.write(name, text + "\n\n".join(lines))


def key_of(readers):
    return f"key-of-{','.join(readers)}"


def write_settings(place, **parts):
    entries = [
        f'[[keys]]\nname = "{",".join(who)}"\n'
        f'digest = "{hashlib.sha256(key_of(who).encode()).hexdigest()}"\n'
        f"readers = {json.dumps(who)}\n"
        for who in CALLERS
    ]
    (place.home / "keys.toml").write_text("\n".join(entries))
    given = {
        "access": {"required": True, "keys": "keys.toml", "deciders": ["group:hr"]},
        "components": {
            "judge": "support.word_judge:WordJudge",
            "reader": "support.echo_reader:EchoReader",
        },
        "tree": {"max_layers": 3},
        **parts,
    }
    place.settings.write_text(settings_text(place.docs, **given))


@pytest.fixture(
    scope="module",
    params=["folder", *(pytest.param(by, marks=pytest.mark.rare) for by in ("document", "corpus"))],
)
def home(request, tmp_path_factory):
    """A home whose trees hold documents of different readers, edited once after a build."""
    place = Place(tmp_path_factory.mktemp(request.param))
    place.home.mkdir(parents=True)
    for name in READERS:
        write(place, name)
    grouping = {"by": request.param, "separate_readers": False}
    write_settings(place, access={}, grouping=grouping, corpus_tree={"enabled": True})
    with embedder_made_by(lambda *_, **__: HashingEmbedder()):
        assert place.call("build").code == 0
        curator = Curator(place.home)
        for node in HomeRetriever(place.home).manifests():
            top = HomeRetriever(place.home).nodes(node.tree)[-1]
            if top.layer and not top.copied_node_id:
                curator.correct_summary(
                    top.id, f"Corrected: {top.text}", Author("Ines", "it was wrong")
                )
        curator.set_document_aside("vault/ebony.md", Author("Ines", "of ebony"))
        (undone,) = [d for d in curator.list_decisions() if d.kind == "document"]
        curator.undo_decision(undone.id, Author("Per"))
        write(place, "ops/daisy.md", seed=10)
        assert place.call("build").code == 0
        write_settings(place, grouping=grouping, corpus_tree={"enabled": True})
        yield place


def python_calls(retriever, ids, trees):
    """Whatever the retriever and the frameworks return or refuse, as text."""
    scopes = cycle(("trees", "corpus", "both"))
    for question in QUESTIONS:
        for strategy in STRATEGIES:
            scope = next(scopes) if len(trees) > 1 else "trees"
            found = retriever.search(question, Query(strategy, 400, scope=scope))
            yield [found.context, found.explanation, found.reason, found.hits]
        yield langchain.RaptorRetriever(searcher=retriever).invoke(question)
        yield llama_index.RaptorRetriever(retriever).retrieve(question)
    for node_id in ids:
        yield lambda node_id=node_id: retriever.trace(node_id)
        yield lambda node_id=node_id: retriever.family(node_id)
        yield lambda node_id=node_id: retriever.search_within(QUESTIONS[0], node_id).hits
    for tree in trees:
        yield lambda tree=tree: retriever.nodes(tree)
    yield retriever.manifests()


def http_calls(client, ids, trees):
    """Whatever the server answers, as text; refusals, too."""
    paths = ["/trees", "/decisions", "/openapi.json"]
    paths += ["/window/corpus", "/window/map", "/window/find?words=pump ebony", "/trees?offset=1"]
    paths += [f"/window/{page}?tree={tree}" for tree in trees for page in ("report", "map")]
    paths += [f"/outline?tree={tree}" for tree in trees]
    paths += [f"/nodes/{node}{part}" for node in ids for part in ("", "/children", "/spans")]
    for path in paths:
        yield client.get(path).text
    for question in QUESTIONS:
        for more in ({}, {"readers": ["ana", "ben", "group:hr", "*"]}, {"scope": "both"}):
            yield client.post("/search", json={"question": question, **more}).text
    for node in ids:
        yield client.post(f"/nodes/{node}/search", json={"question": QUESTIONS[1]}).text


def answering_calls(client):
    """Whatever a model answers that repeats all that it is given, and the records of Dify."""
    corpora = [model["id"] for model in client.get("/v1/models").json()["data"]]
    for question, stream in ((question, stream) for question in QUESTIONS for stream in (0, 1)):
        yield client.post("/ask", json={"question": question, "stream": bool(stream)}).text
        turns = [{"role": "user", "content": text} for text in (QUESTIONS[2], question)]
        for corpus in [*corpora, "other"]:
            chat = {"model": corpus, "messages": turns, "stream": bool(stream)}
            yield client.post("/v1/chat/completions", json=chat).text
    for corpus in [*corpora, "other"]:
        for question in QUESTIONS:
            body = {"knowledge_id": corpus, "query": question, "retrieval_setting": {"top_k": 50}}
            yield client.post("/retrieval", json=body).text


def tool_calls(retriever, ids, trees):
    """Whatever the tools answer, as text."""
    calls = [("search", {"question": question}) for question in QUESTIONS]
    calls += [("list_trees", {}), *(("outline", {"tree": tree}) for tree in trees)]
    calls += [
        (name, {"node_id": node}) for node in ids for name in ("browse", "read_node", "trace")
    ]

    async def talk():
        async with Client(make_server(retriever)) as client:
            return [str(await client.call_tool(*call)) for call in calls]

    return asyncio.run(talk())


def shown(value):
    try:
        value = value() if callable(value) else value
    except UnknownTreeError as error:
        return str(error)
    return value if isinstance(value, str) else repr(value)


@contextmanager
def kept_open(place):
    """A retriever whose stores stay open for all callers, as those of a server do: it is quicker,
    and caches are filled by whoever came first."""
    retriever = HomeRetriever(place.home)
    for corpus in (retriever._trees, retriever._corpus_tree):
        corpus._is_server = True
    yield retriever
    retriever.close()


@pytest.mark.parametrize(
    "readers",
    [CALLERS[0], pytest.param(CALLERS[1], marks=pytest.mark.rare), *CALLERS[2:]],
    ids=",".join,
)
def test_no_call_of_any_interface_shows_what_its_caller_may_not_read(home, readers):
    with kept_open(home) as open_home:
        check_every_call(home, open_home, readers)


def check_every_call(home, open_home, readers):
    every, curator = copy(open_home), Curator(home.home)
    every._needs_caller, curator._published = False, open_home
    trees = [manifest.tree for manifest in every.manifests()]
    nodes = [node for tree in trees for node in every.nodes(tree)]
    ids = [*{(node.layer, node.documents): node.id for node in nodes}.values()][:10]
    for question in QUESTIONS:
        every.search(question)
    retriever = open_home.for_readers(readers)
    callers = KnownCallers(retriever.settings.access, home.home)
    client = TestClient(make_app(open_home, callers, curator=curator))
    client.headers["Authorization"] = f"Bearer {key_of(readers)}"
    hidden = hidden_from(readers)
    served = hidden_from((*readers, "*"))  # a server's caller reads what everyone may read, too
    for source, words in (
        (python_calls(retriever, ids, trees), hidden),
        (tool_calls(retriever, ids, trees), hidden),
        (http_calls(client, ids, trees), served),
        (answering_calls(client), served),
    ):
        seen = ""
        for value in source:
            text = shown(value)
            # The caller's own words come back in errors: ids, names of trees, the question.
            for own in (*QUESTIONS, *trees, *ids):
                text = text.replace(own, "")
            seen += text
            assert not [name for name in words if name in text.casefold()], text[:2000]
        visible = {word(name) for name in READERS} - words
        assert {name for name in visible if f"{name}only" in seen} == visible


def test_a_decision_needs_a_reader_of_the_whole_node_who_may_decide(home):
    every = HomeRetriever(home.home, is_operator=True)
    access = every.settings.access
    app = make_app(
        HomeRetriever(home.home), KnownCallers(access, home.home), curator=Curator(home.home)
    )

    def decide(readers, subject, kind="document"):
        client = TestClient(app, headers={"Authorization": f"Bearer {key_of(readers)}"})
        body = {"kind": kind, "subject": subject, "value": "Better."}
        return client.post("/decisions", json=body)

    assert decide(("ana",), "hr/basil.md").status_code == 403
    hidden, unknown = (decide(("group:hr",), f"vault/{name}.md") for name in ("ebony", "no"))
    assert (hidden.status_code, unknown.status_code) == (422, 422)
    assert hidden.text.replace("ebony", "no") == unknown.text
    for node in (n for m in every.manifests() for n in every.nodes(m.tree) if n.layer):
        readable = not any(word(d) in hidden_from(("group:hr",)) for d in node.documents)
        if not node.copied_node_id and not readable and node.tree != "/corpus":
            assert decide(("group:hr",), node.id, "summary").status_code == 404
    made = decide(("group:hr",), "hr/amber.md").json()
    assert made["who"] == "group:hr"  # the name of the key
    statuses = {("ben", "group:ops"): 403, ("group:hr",): 200}
    for readers, status in statuses.items():
        client = TestClient(app, headers={"Authorization": f"Bearer {key_of(readers)}"})
        assert client.delete(f"/decisions/{made['id']}").status_code == status


def test_a_decision_is_seen_by_those_who_may_read_its_documents_now(tmp_path):
    place = Place(tmp_path)
    place.home.mkdir()
    for name in ("hr/amber.md", "hr/basil.md"):
        write(place, name)
    parts = {"by": "corpus"}
    write_settings(place, grouping=parts)
    with embedder_made_by(lambda *_, **__: HashingEmbedder()):
        assert place.call("build").code == 0
        curator = Curator(place.home)
        (tree,) = (m.tree for m in curator._published.manifests() if "hr/amber.md" in m.documents)
        nodes = HomeRetriever(place.home, is_operator=True).nodes(tree)
        made = curator.set_chunk_aside(nodes[0].id, Author("Ines"))
        curator.correct_summary(nodes[-1].id, "Amber is dear.", Author("Ines"))
        seen = [
            len(curator.for_readers([who]).list_decisions()) for who in ("group:hr", "ana", "vault")
        ]
        assert seen == [2, 0, 0]
        text = (place.docs / "hr/amber.md").read_text()
        place.write("hr/amber.md", text.replace("group:hr", "vault"))
        place.write("hr/cedar.md", text.replace("amber", "cedar"))  # of the tree that it leaves
        assert place.call("build").code == 0
    seen = [
        len(curator.for_readers([who]).list_decisions()) for who in ("group:hr", "ana", "vault")
    ]
    assert seen == [0, 0, 2]
    for who, words in (("group:hr", "no decision"), ("vault", "")):
        with pytest.raises(CurationError, match=words) if words else nullcontext():
            curator.for_readers([who]).undo_decision(made.id, Author("Per"))


def test_a_caller_gets_a_new_map_when_the_nodes_changed_and_never_the_settings(home):
    """Costs and settings describe whole partitions."""
    access = HomeRetriever(home.home, is_operator=True).settings.access
    app = make_app(HomeRetriever(home.home), KnownCallers(access, home.home))
    client = TestClient(app, headers={"Authorization": f"Bearer {key_of(('ana',))}"})
    first = client.get("/window/map").json()
    for cached in (home.home / "maps").iterdir():
        key, points = cached.read_bytes()[:32], cached.read_bytes()[32:]
        cached.write_bytes(key[::-1] + points[::-1])  # a layout of other nodes, as many as before
    assert client.get("/window/map").json() == first
    report = client.get(
        "/window/report", params={"tree": client.get("/trees").json()["trees"][0]["tree"]}
    )
    assert report.json()["nodes"]
    assert (report.json()["settings"], report.json()["cost"]) == ("", None)
    trusted = TestClient(make_app(HomeRetriever(home.home, is_operator=True), ServerKeys()))
    tree = HomeRetriever(home.home, is_operator=True).manifests()[0].tree
    assert "[summarizer]" in trusted.get("/window/report", params={"tree": tree}).json()["settings"]


EQUAL = {
    "p/a.md": '"*"',
    "p/b.md": "group:hr",
    "report (draft)/a.md": '"*"',
    "report (final)/a.md": '"*"',
}
"""Documents of equal text in trees whose names differ by what may be a label of readers."""


def test_a_correction_changes_no_summary_of_equal_content_in_another_document(tmp_path):
    place = Place(tmp_path)
    place.home.mkdir()
    for name, readers in EQUAL.items():
        place.write(name, f"---\nreaders: {readers}\n---\n{prose(12)}")
    write_settings(place, grouping={"by": "folder"})
    with embedder_made_by(lambda *_, **__: HashingEmbedder()):
        assert place.call("build").code == 0
        every, curator = HomeRetriever(place.home, is_operator=True), Curator(place.home)
        nodes = {m.tree: every.nodes(m.tree) for m in every.manifests()}
        assert len({tuple(node.text for node in members) for members in nodes.values()}) == 1
        decider, author = curator.for_readers(["*"]), Author("a decider")
        summary = next(node for node in nodes["p (everyone)"] if node.layer == 1)
        decider.correct_summary(summary.id, "Corrected.", author)
        decider.set_chunk_aside(nodes["report (draft) (everyone)"][0].id, author)
        built = place.call("build", "--json").json["built"]
        assert built == ["p (everyone)", "report (draft) (everyone)"]
        # Nor when the copies are built again.
        write_settings(place, grouping={"by": "folder"}, summarizer={"ratio": 0.3})
        assert len(place.call("build", "--json").json["built"]) == 4
        after = {tree: every.nodes(tree) for tree in nodes}
    texts = {tree: {node.text for node in of} for tree, of in after.items()}
    assert [tree for tree in after if "Corrected." in texts[tree]] == ["p (everyone)"]
    n_leaves = {tree: sum(node.is_leaf for node in of) for tree, of in after.items()}
    assert [tree for tree in after if n_leaves[tree] < max(n_leaves.values())] == [
        "report (draft) (everyone)"
    ]


def test_a_call_without_a_caller_is_refused_where_rights_are_required(home):
    for call in (
        lambda: HomeRetriever(home.home).search("pump"),
        HomeRetriever(home.home).manifests,
        lambda: HomeRetriever(home.home).trace("x"),
    ):
        with pytest.raises(AccessError, match="readers="):
            call()
    assert HomeRetriever(home.home).search("pump", readers=["*"]).hits
    assert not HomeRetriever(home.home).search("pump", readers=[]).hits
    assert home.call("query", "pump").code == 7
    assert "cedaronly" in home.call("query", "pump", "--as", "eva").out
    with pytest.raises(SettingsError):
        HomeRetriever(home.home).search("pump", readers="ana")
