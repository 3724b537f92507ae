"""Rights in a home: a change of them costs no call, and one that was taken away stays away."""

import pytest
from support.homes import built_once, copy_home
from support.sensor_daemon import Daemon
from support.summarizers import ScriptedSummarizer
from support.workshop import Workshop, prose, settings_text

from raptor_assets.corpus.changes import PartitionChange, UpdateReaders, decide_run
from raptor_assets.home.access import corpus_tree_access
from raptor_assets.home.publication import update_readers
from raptor_assets.home.rollback import release_tree, roll_back
from raptor_assets.home.source_state import rescan
from raptor_assets.local.build import update_corpus_tree
from raptor_assets.local.curate import Author, Curator
from raptor_assets.local.forecast import ReaderSet, forecast_build
from raptor_core.errors import SourceError, StoreError
from raptor_core.store.base import Where
from raptor_core.store.engines.base import Condition

pytestmark = pytest.mark.slow

TREE = "guide"


def rules(**readers):
    """Settings in which each document of a folder has its readers."""
    paths = {name: names.split() for name, names in readers.items() if names}
    rows = [{"paths": [f"{TREE}/{name}.md"], "readers": names} for name, names in paths.items()]
    grouping = {"by": "folder", "separate_readers": False}
    return {"source": {"readers": rows}, "grouping": grouping}


def configure(workshop, *, separate=False, required=False, **readers):
    settings = rules(**readers)
    settings["access"] = {"required": required}
    settings["grouping"]["separate_readers"] = separate
    settings["source"]["paths"] = [str(workshop.docs)]
    workshop.configure(**settings)


def opened(root):
    made = Workshop(root)
    configure(made, a="ana ben", b="ana")
    return made


def build_guide(root):
    made = opened(root)
    made.write("guide/a.md", prose(12, seed=1))
    made.write("guide/b.md", prose(12, seed=2))
    made.build()


@pytest.fixture
def workshop(tmp_path_factory, tmp_path):
    copy_home(built_once(tmp_path_factory, "readers", build_guide), tmp_path / "copy")
    return opened(tmp_path / "copy")


def readable(workshop, *readers):
    """Documents of the nodes that these may read, one tuple for each node."""
    with workshop.access().store.open() as store:
        return {node.documents for node in store.nodes(Where(readers=readers))}


A, B, BOTH = ("guide/a.md",), ("guide/b.md",), ("guide/a.md", "guide/b.md")


def test_a_change_of_rights_alone_sets_a_field_of_the_points(workshop):
    assert (readable(workshop, "ana"), readable(workshop, "ben")) == ({A, B, BOTH}, {A})
    with workshop.access().store.open() as store:
        points = {p.id for p in store._points(Condition(()), ())}
    n_embedded = workshop.embedder.n_embedded
    configure(workshop, a="ana", b="ana *")
    assert decide_run(workshop.access()).actions == (UpdateReaders(),)
    report = workshop.build()
    assert (report.built, len(report.run_ids)) == ([], 1)
    assert (readable(workshop, "ana"), readable(workshop, "ben")) == ({A, B, BOTH}, {B})
    assert workshop.embedder.n_embedded == n_embedded
    with workshop.access().store.open() as store:
        assert {p.id for p in store._points(Condition(()), ())} == points
    assert workshop.build().run_ids == []


def test_an_earlier_build_has_the_readers_of_today_and_loses_those_of_tomorrow(workshop):
    workshop.write("guide/b.md", prose(12, seed=3))
    configure(workshop, a="ana ben", b="ana ben")
    workshop.build()
    configure(workshop, a="ana", b="ben")
    roll_back(workshop.access(), TREE, to="", note="it answered worse")
    assert (readable(workshop, "ana"), readable(workshop, "ben")) == ({A}, {B})
    daemon = Daemon(workshop)
    daemon.tick()
    configure(workshop, a="eva", b="ben eva")
    daemon.tick()
    assert daemon.run()
    assert daemon.tick()[:2] == ([], [])
    assert workshop.manifests()[TREE].pin
    assert readable(workshop, "ana") == set()
    assert (readable(workshop, "eva"), readable(workshop, "ben")) == ({A, B, BOTH}, {B})
    configure(workshop, a="eva", b="eva")
    assert workshop.build().built == []  # it leaves a pinned tree, but for its readers
    assert (readable(workshop, "ana", "ben"), readable(workshop, "eva")) == (set(), {A, B, BOTH})
    release_tree(workshop.access(), TREE)
    workshop.build()
    assert (readable(workshop, "eva"), readable(workshop, "ben")) == ({A, B, BOTH}, set())


def opened_apart(root):
    made = Workshop(root, {"summarizer": ScriptedSummarizer()})
    configure(made, separate=True, a="ana", b="ben", c="ana")
    return made


def build_apart(root):
    made = opened_apart(root)
    for seed, name in enumerate("abc", 1):
        made.write(f"guide/{name}.md", prose(12, seed=seed))
    made.build()


@pytest.fixture
def apart(tmp_path_factory, tmp_path):
    """A folder of three documents: two for Ana, one for Ben."""
    copy_home(built_once(tmp_path_factory, "apart", build_apart), tmp_path / "apart")
    return opened_apart(tmp_path / "apart")


def paid(workshop):
    """Numbers of texts that the summarizer and the embedder made."""
    return workshop.parts_given["summarizer"].n_made, workshop.embedder.n_embedded


def test_a_folder_whose_readers_all_change_makes_no_call_and_no_vector(apart):
    assert set(apart.manifests()) == {"guide (ana)", "guide (ben)"}
    with apart.access().store.open() as store:
        assert store.count(Where(readers=("ana", "ben"))) == store.count(Where())
    before, texts = paid(apart), apart.texts("guide (ana)")
    configure(apart, separate=True, a="eva", b="ben", c="eva")
    plan = forecast_build(
        apart.home,
        apart.settings,
        rescan(apart.access().tables, apart.settings.source),
        components=apart.components,
    )
    assert plan.reader_sets == (ReaderSet(("eva",), 2, 1), ReaderSet(("ben",), 1, 1))
    assert (plan.n_readers_changed, plan.plan.summary_usage.calls) == (len(texts), 0)
    report = apart.build()
    assert (report.built, report.dropped) == (["guide (eva)"], ["guide (ana)"])
    assert (apart.texts("guide (eva)"), paid(apart)) == (texts, before)
    configure(apart, separate=True, a="eva", b="ben", c="ben")
    assert sorted(apart.build().built) == ["guide (ben)", "guide (eva)"]
    documents = {tree: set(m.documents) for tree, m in apart.manifests().items()}
    assert documents == {"guide (eva)": {"guide/a.md"}, "guide (ben)": {"guide/b.md", "guide/c.md"}}
    assert paid(apart)[1] - before[1] < len(texts) / 2  # of summaries alone


def test_a_right_is_gone_where_the_tree_that_takes_the_document_fails(apart):
    configure(apart, separate=True, a="ben", b="ben", c="ben")
    apart.parts_given["summarizer"].failing = ""  # every request
    assert list(apart.build().failed) == ["guide (ben)"]
    assert set(apart.manifests()) == {"guide (ana)", "guide (ben)"}
    assert readable(apart, "ana") == set()
    apart.parts_given["summarizer"].failing = "\0"
    assert apart.build().dropped == ["guide (ana)"]


def test_decisions_hold_for_the_group_under_other_readers(tmp_path):
    made = Workshop(tmp_path, grouping={"by": "folder"}, tree={"max_layers": 1})
    made.home.create_folders_and_instance()
    made.home.settings_path.write_text(settings_text(made.docs, grouping={"by": "folder"}))

    def build(readers):
        for seed, name in enumerate("ab", 1):
            made.write(f"guide/{name}.md", f"---\nreaders: {readers}\n---\n{prose(12, seed=seed)}")
        made.build()

    build("ana")
    curator, author = Curator(made.home.path), Author("Ines")
    with made.access().store.open() as store:
        chunk = store.nodes(Where(layers=(0,)))[0]
    curator.set_chunk_aside(chunk.id, author)
    curator.set_document_aside("guide/b.md", author)
    build("ana")
    with made.access().store.open() as store:
        summary = store.nodes(Where(layers=(1,)))[0]
    curator.correct_summary(summary.id, "What Ines wrote.", author)
    build("ben")
    (manifest,) = made.manifests().values()
    assert (manifest.tree, set(manifest.documents)) == ("guide (ben)", {"guide/a.md"})
    texts = made.texts("guide (ben)")
    assert "What Ines wrote." in texts
    assert chunk.text not in texts


def test_a_document_without_readers_is_refused_and_hidden_and_stays(apart):
    tree = "guide (ana)"
    before, documents = paid(apart), set(apart.manifests()[tree].documents)
    configure(apart, separate=True, required=True, a="ana", b="ben", c="", d="")
    apart.write("guide/d.md", prose(12, seed=4))
    plan = forecast_build(
        apart.home,
        apart.settings,
        rescan(apart.access().tables, apart.settings.source),
        components=apart.components,
    )
    refused = ["guide/c.md", "guide/d.md"]
    assert [item.name for item in plan.skipped] == refused
    assert plan.changes.partitions_in(PartitionChange.UNKNOWN) == (tree,)
    report = apart.build()
    assert {(item.name, "access.required" in item.reason) for item in report.skipped} == {
        (name, True) for name in refused
    }
    assert set(apart.manifests()[tree].documents) == documents
    assert not any("guide/c.md" in of for of in readable(apart, "ana", "*"))
    assert ("guide/a.md",) in readable(apart, "ana")
    configure(apart, separate=True, required=True, a="ana", b="ben", c="ana", d="")
    assert (apart.build().built, paid(apart)) == ([], before)
    assert any("guide/c.md" in of for of in readable(apart, "ana"))


def test_rights_are_taken_while_a_removal_is_to_be_confirmed(apart):
    apart.remove("guide/c.md")
    apart.remove("guide/b.md")
    configure(apart, separate=True, a="eva", b="ben", c="ana")
    daemon = Daemon(apart)
    daemon.tick()
    assert not daemon.run()  # it says what is to be confirmed, after it changed readers
    assert ("guide/a.md",) not in readable(apart, "ana")
    assert "confirm" in daemon.tick()[2]
    configure(apart, separate=True, a="ben", b="ben", c="ana")
    with pytest.raises(SourceError, match="confirm"):
        apart.build()
    assert readable(apart, "ana", "eva") == {("guide/c.md",)}  # its rule is still there
    assert readable(apart, "ben") == {("guide/a.md",), ("guide/b.md",)}


def above(workshop):
    """Readers by document of each corpus tree, and the readers of its nodes."""
    with corpus_tree_access(workshop.access()).store.open_existing() as store:
        manifests = {m.tree: dict(m.readers) for m in store.manifests()}
        return manifests, [store.count(Where(readers=(name,))) for name in ("ana", "ben", "eva")]


def test_corpus_trees_do_not_mix_readers_and_lose_them_with_the_trees_below(tmp_path):
    made = Workshop(tmp_path, {"summarizer": ScriptedSummarizer()})
    names = "abcde"

    def configure_all(*readers):
        rows = [{"paths": [f"{n}.md"], "readers": [r]} for n, r in zip(names, readers, strict=True)]
        source = {"paths": [str(made.docs)], "readers": rows}
        made.configure(source=source, corpus_tree={"enabled": True, "min_trees": 2})

    for seed, name in enumerate(names):
        made.write(f"{name}.md", prose(6, seed=seed))
    configure_all("ana", "ana", "ben", "ben", "eva")

    def build():
        made.build()
        return update_corpus_tree(made.home, made.settings, components=made.components)

    build()
    manifests, n_readable = above(made)
    assert {name: len(of) for name, of in manifests.items()} == {
        "/corpus (ana)": 2,
        "/corpus (ben)": 2,
    }
    assert min(n_readable[:2]) > 0
    assert n_readable[2] == 0  # one tree is too few
    before = paid(made)
    configure_all("ben", "ben", "eva", "eva", "eva")
    made.build()  # of the trees below alone
    assert above(made)[1] == [0, 0, 0]
    assert made.build().run_ids == []
    update_corpus_tree(made.home, made.settings, components=made.components)
    manifests, n_readable = above(made)
    assert {name: len(of) for name, of in manifests.items()} == {
        "/corpus (ben)": 2,
        "/corpus (eva)": 3,
    }
    assert paid(made)[1] - before[1] <= 2  # of the tree that gained a document


def test_a_right_is_taken_though_the_process_died_while_it_was_taken(workshop, monkeypatch):
    """Also from a held tree, which no build publishes again."""
    names = ["ana", "ben", "eva", "ines"]
    workshop.write("guide/b.md", prose(12, seed=3))
    configure(workshop, a=" ".join(names), b="ana")
    workshop.build()
    roll_back(workshop.access(), TREE, to="", note="it answered worse")
    with workshop.access().store.open_existing() as store:
        engine_class = type(store._engine)
    apply = engine_class.apply
    for n_operations in range(3):

        def die(engine, operations, n_operations=n_operations):
            apply(engine, operations[:n_operations])
            raise StoreError("died")

        name = names.pop()
        assert readable(workshop, name) == {A}
        configure(workshop, a=" ".join(names), b="ana")
        with monkeypatch.context() as dying:
            dying.setattr(engine_class, "apply", die)
            with pytest.raises(StoreError, match="died"):
                update_readers(workshop.access())
        update_readers(workshop.access())
        assert readable(workshop, name) == set()
        assert not update_readers(workshop.access())
    assert workshop.manifests()[TREE].pin


@pytest.mark.parametrize("goes_back", [False, True])
def test_a_text_that_moved_has_its_readers_though_another_document_took_its_id(tmp_path, goes_back):
    made = Workshop(tmp_path)
    texts = {"ana": prose(6, seed=1), "*": prose(6, seed=2)}
    documents = {name: f"---\nreaders: '{name}'\n---\n{text}" for name, text in texts.items()}
    made.write("plan.md", documents["ana"])
    made.write("menu.md", documents["*"])
    made.build()
    (made.docs / "plan.md").rename(made.docs / "old.md")
    (made.docs / "menu.md").rename(made.docs / "plan.md")
    if goes_back:
        made.build()
        roll_back(made.access(), "plan.md", to="", note="it answered worse")
    else:
        update_readers(made.access())  # as before a build that waits for approval or fails
    with made.access().store.open_existing() as store:
        found = {n.text for n in store.nodes(Where(readers=("ben",), layers=(0,)))}
        assert not any(text in texts["ana"] for text in found)
        assert store.nodes(Where(readers=("ana",), documents=("plan.md",)))
