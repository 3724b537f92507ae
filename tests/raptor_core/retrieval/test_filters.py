"""A filter holds for every word: no strategy returns text over a chunk that the filter leaves out.

Random trees have summaries that name each chunk beneath them, so that a leak is seen in the text.
"""

from dataclasses import replace
from functools import cache
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.hashing import HashingEmbedder
from support.stores import make_manifest, make_node

from raptor_core import Query, Retriever, Where, open_store
from raptor_core.documents.base import FOLDER
from raptor_core.errors import SettingsError
from raptor_core.identity import digest
from raptor_core.retrieval import STRATEGIES
from raptor_core.settings import StoreSettings
from raptor_core.store import StoreIdentity
from raptor_core.store.facts import matching_texts
from raptor_core.store.payload import to_storable_text

EMBEDDER = HashingEmbedder()
IDENTITY = StoreIdentity("corpus", EMBEDDER.model, EMBEDDER.fingerprint, EMBEDDER.n_dims)
FOLDERS = ("", "hr", "hr/pay", "hrx")
QUESTIONS = ("chunk of the pump", "Summarize the text.")


@st.composite
def leaf_sets(draw):
    """Chunks of up to five documents, with folders and metadata."""
    leaves = []
    for number in range(draw(st.integers(2, 5))):
        folder = draw(st.sampled_from(FOLDERS))
        name = f"{folder}/{number}.md".strip("/")
        values = {
            "tags": draw(st.sampled_from([("pump",), ("pump", "tin"), ("tin",)])),
            "lang": draw(st.sampled_from(["en", "EN"])),
            "version": draw(st.sampled_from(["1.1", "1.10", 2, 2.0])),
            "date": draw(st.sampled_from(["2023-12-31", "2024-01-01", "2024-06-01T10:00:00Z"])),
        }
        kept = draw(st.sets(st.sampled_from(sorted(values))))
        metadata = {key: values[key] for key in kept} | {FOLDER: folder or "."}
        leaves += [
            make_node(
                text=f"chunk w{number}x{at}. of the pump",
                position=at,
                documents=(name,),
                metadata=metadata,
            )
            for at in range(draw(st.integers(1, 3)))
        ]
    return leaves


@st.composite
def tree_nodes(draw):
    """A tree over random chunks: clusters overlap, and one summary is at the top."""
    layer = draw(leaf_sets())
    nodes, number = list(layer), 0
    while len(layer) > 1:
        number += 1
        n_groups = max(1, len(layer) // 2)
        groups = [set(range(at, len(layer), n_groups)) for at in range(n_groups)]
        for group in groups[1:]:
            group.add(draw(st.integers(0, len(layer) - 1)))
        rows = sorted({tuple(sorted(group)) for group in groups})
        layer = [summary_of([layer[row] for row in group], number) for group in rows]
        nodes += layer
    return nodes


def summary_of(children, number):
    shared = dict(children[0].metadata)
    for child in children[1:]:
        shared = {k: v for k, v in shared.items() if child.metadata.get(k) == v}
    return make_node(
        layer=number,
        text=" ".join(child.text for child in children),
        position=children[0].position,
        documents=tuple(sorted({d for child in children for d in child.documents})),
        children=tuple(child.id for child in children),
        metadata=shared,
    )


METADATA = st.sampled_from(
    [
        {"tags": "pump"},
        {"tags": ["pump", "tin"]},
        {"lang": "en"},
        {"version": "1.10"},
        {"version": 2},
        {"version": {"gt": 1, "lte": 1.5}},
        {"date": {"gte": "2024-01-01"}},
        {"date": {"lt": "2024-01-01"}, "lang": "EN"},
    ]
)
NAMES = [f"{folder}/{number}.md".strip("/") for number in range(3) for folder in FOLDERS]
PLAIN = st.one_of(
    st.builds(Where, documents=st.sets(st.sampled_from(NAMES), min_size=1).map(tuple)),
    st.builds(Where, folders=st.sampled_from([("hr/",), ("hr", "hrx"), ("hr/pay/",), ("./hr",)])),
    st.builds(Where, metadata=METADATA),
)
FILTERS = st.one_of(
    PLAIN,
    st.builds(Where, exclude=PLAIN),
    st.builds(replace, PLAIN, exclude=PLAIN),
    st.builds(Where, folders=st.just(("hr",)), metadata=METADATA),
)


def holds(leaf, where):
    """Whether a chunk matches, by the definition."""
    checks = field_checks(leaf, where)
    return all(checks) and (where.exclude is None or not any(field_checks(leaf, where.exclude)))


def field_checks(leaf, where):
    name, folder = leaf.documents[0], f"{leaf.metadata[FOLDER]}/"
    if where.documents is not None:
        yield name in where.documents
    if where.folders is not None:
        yield any(folder.startswith(f"{f.removeprefix('./').strip('/')}/") for f in where.folders)
    for key, accepted in where.metadata.items():
        yield value_holds(leaf.metadata.get(key), accepted)


def value_holds(value, accepted):
    if value is None:
        return False
    if isinstance(accepted, dict):
        known = float(value) if str(value)[:4].count(".") or isinstance(value, int) else value[:10]
        low, high = accepted.get("gte", accepted.get("gt")), accepted.get("lt", accepted.get("lte"))
        above = low is None or (known > low if "gt" in accepted else known >= low)
        return above and (high is None or (known < high if "lt" in accepted else known <= high))
    items = value if isinstance(value, tuple) else (value,)
    wanted = accepted if isinstance(accepted, list) else [accepted]
    return bool(
        {t for item in items for t in matching_texts(item)}
        & {t for w in wanted for t in matching_texts(w)}
    )


@cache
def vector(text):
    return EMBEDDER.embed([text])[0]


def open_tree(nodes, root, readers=()):
    store = open_store(StoreSettings(), None, IDENTITY)
    publish(store, nodes, dict(readers))
    return store


def publish(store, nodes, readers):
    # As in a build, the id tells trees apart whose nodes differ in metadata alone.
    manifest = replace(make_manifest(nodes), build_id=digest(*map(to_storable_text, nodes)))
    vectors = {n.embedding_key: vector(n.text) for n in nodes}
    # A manifest without inputs of its own would share the cached terms of another one.
    inputs = digest(repr(sorted(readers.items())))
    store.publish(replace(manifest, readers=readers, inputs=inputs), nodes, vectors)


@pytest.mark.slow
@examples(25)
@given(nodes=tree_nodes(), where=FILTERS)
def test_no_word_of_a_chunk_that_is_filtered_out_is_returned(nodes, where):
    leaves = [node for node in nodes if node.is_leaf]
    allowed = {word(leaf) for leaf in leaves if holds(leaf, where)}
    with open_tree(nodes, None) as store:
        retriever = Retriever(store, EMBEDDER)
        for strategy in STRATEGIES:
            query = Query(strategy, 10_000, where=where)
            for found in retriever.search_many(QUESTIONS, query):
                words = {w for hit in found.hits for w in hit.node.text.split() if w[0] == "w"}
                assert words <= allowed, strategy
                if strategy in ("flat", "traversal"):
                    assert words == allowed, strategy


def test_a_summary_has_the_readers_that_all_its_documents_have():
    leaves = [make_node(text=f"chunk w{n}x0.", documents=(f"{n}.md",)) for n in range(3)]
    nodes = [*leaves, summary_of(leaves[:2], 1), summary_of(leaves[1:], 1)]
    rights = {"0.md": ("a", "b"), "1.md": ("*",), "2.md": ("b",)}

    def counted():
        return [store.count(Where(readers=(name,))) for name in ("a", "b", "c")]

    with open_tree(nodes, None, rights) as store:
        assert counted() == [3, 5, 1]
        publish(store, nodes, rights | {"0.md": ("b",)})
        assert counted() == [1, 5, 1]
        publish(store, nodes, {"1.md": ("a",)})
        assert counted() == [1, 0, 0]


RIGHTS = st.fixed_dictionaries(
    {}, optional={n: st.sets(st.sampled_from("abc*"), min_size=1).map(sorted) for n in range(5)}
)


@pytest.mark.slow
@examples(15)
@given(editions=st.lists(st.tuples(tree_nodes(), RIGHTS, RIGHTS), min_size=2, max_size=2))
def test_no_word_of_a_chunk_that_the_caller_may_not_read_is_returned(editions):
    """Also after an edit, and after a change of rights alone."""
    with open_store(StoreSettings(), None, IDENTITY) as store:
        for nodes, *rights in editions:
            for of_number in rights:
                readers = readers_of(nodes, of_number)
                publish(store, nodes, readers)
                for caller in (("a",), ("b", "c"), ("*",), ("d",)):
                    check_rights(store, nodes, readers, caller)


def readers_of(nodes, of_number):
    """Readers by document, from readers by the number in its name."""
    names = {document for node in nodes for document in node.documents}
    numbers = {name: int(name.rpartition("/")[2].removesuffix(".md")) for name in names}
    return {name: tuple(of_number[n]) for name, n in numbers.items() if n in of_number}


def check_rights(store, nodes, readers, caller):
    leaves = [node for node in nodes if node.is_leaf]
    allowed = {
        word(leaf) for leaf in leaves if {*caller, "*"} & {*readers.get(leaf.documents[0], ())}
    }
    retriever = Retriever(store, EMBEDDER)
    for strategy in STRATEGIES:
        query = Query(strategy, 10_000, where=Where(readers=caller))
        for found in retriever.search_many(QUESTIONS, query):
            words = {w for hit in found.hits for w in hit.node.text.split() if w[0] == "w"}
            assert words <= allowed, strategy
            if strategy in ("flat", "traversal"):
                assert words == allowed, strategy


def word(leaf):
    return leaf.text.split()[1]


@pytest.fixture(scope="module")
def retriever():
    leaves = [
        make_node(text=f"chunk w{n}x0. of the pump", position=n, documents=(f"{n}.md",))
        for n in range(4)
    ]
    pairs = [summary_of(leaves[:2], 1), summary_of(leaves[2:], 1)]
    return Retriever(open_tree([*leaves, *pairs], None), EMBEDDER)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "name", ["trees", "documents", "folders", "layers", "ids", "covers", "readers"]
)
def test_an_empty_list_matches_nothing(retriever, strategy, name):
    query = Query(strategy, where=Where(**{name: []}))
    assert not any(found.hits for found in retriever.search_many(QUESTIONS, query))


@pytest.mark.parametrize(
    "values",
    [
        {"documents": "a.md"},
        {"metadata": ["lang"]},
        {"metadata": {"lang": None}},
        {"metadata": {"date": {"after": 1}}},
        {"exclude": Where(exclude=Where())},
        {"exclude": Where(readers=("ana",))},
        {"readers": "ana"},
    ],
)
def test_a_filter_of_another_type_is_refused(values):
    with pytest.raises(SettingsError, match=r"where\.(documents|folders|metadata|readers|exclude)"):
        Where(**values)


@pytest.mark.parametrize("bounds", [{"gt": "soon"}, {"gt": 1, "lt": "2024-01-01"}, {"gt": True}])
def test_bounds_are_numbers_or_dates(retriever, bounds):
    with pytest.raises(SettingsError, match="all numbers, or all dates"):
        retriever.search("pump", Query(where=Where(metadata={"date": bounds})))


@pytest.mark.parametrize("where", [{"metadata": {"lnag": "en"}}, {"metadata": {"lnag": {"gt": 1}}}])
def test_a_key_that_no_document_has_is_named(retriever, where):
    for query in (Where(**where), Where(exclude=Where(**where))):
        assert "'lnag'" in retriever.search("pump", Query(where=query)).note
    assert not retriever.search("pump").note


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("typed", ["NFC", "NFD"])
def test_a_filter_matches_names_in_any_form_of_their_letters(stored, typed):
    names = [normalize("NFC", name) for name in ("Übung", "Quản lý", "ガイド", "이사회", "Å")]
    leaves = [
        make_node(
            text=f"chunk of {name}",
            documents=(f"{name}/a.md",),
            metadata={FOLDER: name, "team": normalize(stored, name), normalize(stored, name): 7},
        )
        for name in names
    ]
    with open_tree(leaves, None, {f"{name}/a.md": (name,) for name in names}) as store:
        for name in (normalize(typed, name) for name in names):
            wheres = (
                Where(documents=(f"{name}/a.md",)),
                Where(folders=(f"{name}/",)),
                Where(covers=(f"{name}/a.md",)),
                Where(metadata={"team": name}),
                Where(metadata={name: {"gt": 6}}),
                Where(readers=(name,)),
            )
            assert [store.count(where) for where in wheres] == [1] * len(wheres)
            assert store.for_readers([name]).count() == 1
            excluded = Where(documents=(f"{name}/a.md",))
            assert store.count(Where(exclude=excluded)) == len(names) - 1
