"""What a right, a decision or a removal says reaches every path on which text becomes visible."""

import json

import pytest
from support.command import embedder_made_by, raptor
from support.homes import built_once, copy_home
from support.workshop import Workshop, prose, settings_text

from raptor_assets.corpus.changes import State, UpdateReaders, decide
from raptor_assets.home.access import corpus_tree_access
from raptor_assets.home.rollback import release, roll_back
from raptor_assets.local.build import update_corpus_tree
from raptor_assets.local.curate import Author, Curator
from raptor_assets.local.transfer import export_home, import_home
from raptor_assets.local.versions import approve
from raptor_core.errors import CurationError, SourceError
from raptor_core.store.base import Where

pytestmark = pytest.mark.slow


def write_rows(workshop, **readers):
    """Rows with an id, a text and, unless they are None, readers."""
    rows = [
        {"id": name, "text": prose(8, seed=ord(name[0])), **({} if of is None else {"readers": of})}
        for name, of in readers.items()
    ]
    workshop.write("rows.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))


def readable(access, *readers):
    """Documents of the nodes that a caller may read."""
    with access.store.open_existing() as store:
        return {name for node in store.nodes(Where(readers=readers)) for name in node.documents}


def open_corpus(root):
    """A workshop over rows, with a corpus tree above their trees."""
    made = Workshop(root)
    source = {"paths": [str(made.docs)], "max_removed": 1.0}
    made.configure(source=source, corpus_tree={"enabled": True, "min_trees": 2})
    return made


def build_corpus(root):
    made = open_corpus(root)
    write_rows(made, a=["ana"], b=["ana"], c=["ana"])
    made.build()
    update_corpus_tree(made.home, made.settings, components=made.components)


@pytest.fixture
def corpus(tmp_path_factory, tmp_path):
    """Three published rows with a corpus tree above them, in a home that was moved."""
    copy_home(built_once(tmp_path_factory, "rows", build_corpus), tmp_path / "rows")
    made = open_corpus(tmp_path / "rows")
    assert readable(corpus_tree_access(made.access()), "ana") == {"a", "b", "c"}
    return made


def test_a_rollback_and_a_release_revoke_in_the_corpus_tree_too(corpus):
    write_rows(corpus, a=["ana"], b=["ana"], c=["ana"])
    text = (corpus.docs / "rows.jsonl").read_text()
    (corpus.docs / "rows.jsonl").write_text(text.replace('"text": "', '"text": "Later on. ', 1))
    corpus.build()
    write_rows(corpus, a=["ben"], b=["ana"], c=["ana"])
    above = corpus_tree_access(corpus.access())
    roll_back(corpus.access(), "a", "", "worse")
    assert "a" not in readable(above, "ana")
    write_rows(corpus, a=["eva"], b=["ana"], c=["ana"])
    release(corpus.access(), "a")
    assert readable(corpus.access(), "ben") == set()
    assert readable(above, "ben") == set()


def test_a_dropped_tree_leaves_the_corpus_tree_in_the_same_step(corpus):
    corpus.drop("a")
    with corpus_tree_access(corpus.access()).store.open_existing() as store:
        (manifest,) = store.manifests()
        nodes = store.nodes()
    assert set(manifest.documents) == {"b", "c"}
    assert {name for node in nodes for name in node.documents} == {"b", "c"}
    update_corpus_tree(corpus.home, corpus.settings, components=corpus.components)
    assert decide(corpus.access()).changes.of(State.NEW) == ("a",)


def test_a_text_that_is_set_aside_leaves_the_corpus_tree_in_the_same_step(corpus):
    source = {"paths": [str(corpus.docs)], "max_removed": 1.0}
    grouping, above = {"by": "folder"}, {"enabled": True, "min_trees": 2}
    corpus.configure(source=source, grouping=grouping, corpus_tree=above, tree={"max_layers": 4})
    for name in ("mix/a.md", "mix/b.md", "other/c.md", "third/d.md"):
        corpus.write(name, f"---\nreaders: '*'\n---\n{prose(8, seed=ord(name[-4]))}")
    corpus.build()
    update_corpus_tree(corpus.home, corpus.settings, components=corpus.components)
    corpus.home.settings_path.write_text(settings_text(corpus.docs, grouping=grouping))
    curator = Curator(corpus.home.path)
    curator.set_document_aside("mix/a.md", Author("Ines"))
    with corpus.access().store.open() as store:
        chunk = next(n for n in store.nodes() if n.documents == ("third/d.md",) and n.is_leaf)
    curator.set_chunk_aside(chunk.id, Author("Ines"))
    corpus.build()
    assert readable(corpus_tree_access(corpus.access()), "guest") == {"other (everyone)"}


def test_a_text_above_stays_revoked_when_the_document_becomes_public_with_another_text(tmp_path):
    """Until the corpus tree is built again, its leaf still summarizes the old text."""
    made = Workshop(tmp_path)
    source = {"paths": [str(made.docs)], "max_removed": 1.0}
    grouping = {"by": "folder", "separate_readers": False}
    above = {"enabled": True, "min_trees": 2}
    made.configure(source=source, grouping=grouping, corpus_tree=above, tree={"max_layers": 4})
    for name in ("mix/open.md", "mix/board.md", "other/open.md"):
        made.write(name, f"---\nreaders: '*'\n---\n{prose(8, seed=len(name))}")
    made.build()
    update_corpus_tree(made.home, made.settings, components=made.components)
    above = corpus_tree_access(made.access())
    assert readable(above, "guest") == {"mix", "other"}
    made.write("mix/board.md", f"---\nreaders: board\n---\n{prose(8, seed=12)}")
    made.build()
    made.write("mix/board.md", f"---\nreaders: '*'\n---\n{prose(8, seed=99)}")
    made.build()
    assert "mix/board.md" in readable(made.access(), "guest")
    assert readable(above, "guest") == {"other"}
    update_corpus_tree(made.home, made.settings, components=made.components)
    assert readable(above, "guest") == {"mix", "other"}


def test_rights_that_are_taken_by_an_odd_value_are_gone(corpus):
    write_rows(corpus, a=[], b="", c={"deny": "ana"})
    corpus.build()
    assert readable(corpus.access(), "ana") == set()
    assert set(corpus.manifests()) == {"a", "b", "c"}


def test_rights_are_revoked_though_another_part_of_the_source_is_missing(corpus, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.md").write_text(f"---\nreaders: ana\n---\n{prose(6, seed=9)}")
    paths = [str(corpus.docs), str(other)]
    corpus.configure(source={"paths": paths, "max_removed": 1.0})
    corpus.build()
    assert "note.md" in readable(corpus.access(), "ana")
    (other / "note.md").unlink()
    other.rmdir()
    write_rows(corpus, a=["ben"], b=["ana"], c=["ana"])
    with pytest.raises(SourceError, match="other"):
        corpus.build()
    assert readable(corpus.access(), "ana") == {"b", "c"}
    assert readable(corpus.access(), "ben") == {"a"}  # the missing part had no document "a"
    assert "note.md" in corpus.manifests()


def test_an_import_brings_back_no_right_and_no_chunk_that_was_set_aside(corpus, tmp_path):
    folder = str(tmp_path / "export")
    export_home(corpus.home, corpus.settings, folder)
    corpus.home.settings_path.write_text(settings_text(corpus.docs))
    with corpus.access().store.open() as store:
        chunk = next(n for n in store.nodes(Where(layers=(0,))) if n.documents == ("b",))
    Curator(corpus.home.path).set_chunk_aside(chunk.id, Author("Ines"))
    write_rows(corpus, a=["ben"], b=["ana"], c=["ana"])
    corpus.build()
    identity = corpus.components.store_identity
    import_home(corpus.home, corpus.settings, folder, identity, replace=True)
    assert "a" not in readable(corpus.access(), "ana")
    assert chunk.text not in corpus.texts("b")


def test_an_import_shows_no_document_that_was_deleted_since_the_backup(tmp_path):
    made = Workshop(tmp_path)
    made.configure(
        source={"paths": [str(made.docs)], "max_removed": 1.0}, grouping={"by": "folder"}
    )
    for name in ("kept.md", "deleted.md"):
        made.write(f"guides/{name}", prose(8, seed=len(name)))
    made.build()
    export_home(made.home, made.settings, str(tmp_path / "export"))
    made.home.settings_path.write_text(settings_text(made.docs))
    (made.docs / "guides" / "deleted.md").unlink()
    made.build()
    identity = made.components.store_identity
    import_home(made.home, made.settings, str(tmp_path / "export"), identity, replace=True)
    with made.access().store.open_existing() as store:
        assert {name for node in store.nodes() for name in node.documents} == {"guides/kept.md"}


def test_a_pinned_tree_follows_readers_and_decisions_and_stays_pinned(corpus):
    text = (corpus.docs / "rows.jsonl").read_text()
    (corpus.docs / "rows.jsonl").write_text(text.replace('"text": "', '"text": "Later on. ', 1))
    corpus.build()
    corpus.home.settings_path.write_text(settings_text(corpus.docs))
    roll_back(corpus.access(), "a", "", "worse")
    with corpus.access().store.open() as store:
        chunk = next(n for n in store.nodes(Where(layers=(0,))) if n.documents == ("a",))
    Curator(corpus.home.path).set_chunk_aside(chunk.id, Author("Ines"))
    n_embedded = corpus.embedder.n_embedded
    corpus.build()
    assert chunk.text not in corpus.texts("a")
    assert corpus.texts("a")
    assert corpus.manifests()["a"].pin
    assert corpus.build().run_ids == []
    assert corpus.embedder.n_embedded == n_embedded


@pytest.mark.parametrize("waits", [False, True])
def test_a_right_that_comes_with_a_new_text_is_not_given_for_the_old_one(corpus, waits):
    runs = {"publish": "when_approved" if waits else "at_once"}
    source = {"paths": [str(corpus.docs)], "max_removed": 1.0}
    corpus.configure(source=source, runs=runs, corpus_tree={"enabled": True, "min_trees": 2})
    old = corpus.texts("a")
    write_rows(corpus, a=["*"], b=["ana"], c=["ana"])
    text = (corpus.docs / "rows.jsonl").read_text()
    public = json.dumps({"id": "a", "text": "Nothing secret stands here.", "readers": ["*"]})
    (corpus.docs / "rows.jsonl").write_text("\n".join([public, *text.splitlines()[1:]]) + "\n")
    assert decide(corpus.access()).actions[0] != UpdateReaders()
    corpus.build()
    for access in (corpus.access(), corpus_tree_access(corpus.access())):
        with access.store.open_existing() as store:
            assert not old & {node.text for node in store.nodes(Where(readers=("guest",)))}
    if waits:
        approve(corpus.home, corpus.settings, ["a"], corpus.components)
    assert readable(corpus.access(), "guest") == {"a"}


def test_what_the_source_says_during_a_build_holds_for_what_it_publishes_and_drops(tmp_path):
    """A build with a model takes hours; so a right may be taken, or a document come back."""
    texts = {"a.md": f"---\nreaders: ana\n---\n{prose(9, seed=1)}", "b.md": prose(9, seed=2)}

    def summarize(texts_below):
        for name, text in texts.items():
            workshop.write(name, text)
        return texts_below[0]

    workshop = Workshop(tmp_path, {"summarizer": summarize})
    workshop.configure(source={"paths": [str(workshop.docs)], "max_removed": 1.0})
    for name, text in texts.items():
        workshop.write(name, text)
    workshop.build()
    workshop.write("a.md", f'---\nreaders: "*"\n---\n{prose(12, seed=3)}')
    workshop.remove("b.md")
    assert workshop.build().dropped == []
    assert readable(workshop.access(), "guest") == set()
    assert "b.md" in workshop.manifests()


def test_plan_build_and_status_name_rules_and_documents_that_nobody_may_read(corpus):
    write_rows(corpus, a=[], b=["ana"], c=["ana"])
    rule = '[[source.readers]]\npaths = ["hr/**"]\nreaders = ["ana"]\n'
    corpus.home.settings_path.write_text(settings_text(corpus.docs) + rule)
    home = ["--home", corpus.home.path]
    with embedder_made_by(lambda *_, **__: corpus.embedder):
        for command in ("plan", "build", "status"):
            printed = raptor(command, *home)
            assert "'hr/**' matches no document" in printed.out + printed.err, command
        assert "1 document that no caller may read" in raptor("status", *home).out


def test_a_document_that_is_set_aside_goes_at_once_though_it_cannot_be_read(tmp_path):
    made = Workshop(tmp_path)
    made.configure(source={"paths": [str(made.docs)]}, grouping={"by": "folder"})
    made.write("north/a.md", prose(4, seed=1))
    made.write("north/b.md", prose(4, seed=2))
    made.build()
    made.write("north/b.md", f"---\nreaders: [{{{{ x\n---\n{prose(4, seed=2)}")
    made.build()
    made.home.settings_path.write_text(settings_text(made.docs, grouping={"by": "folder"}))
    home = ["--home", made.home.path]
    (reason,) = raptor("status", "--json", *home).json["withheld"].values()
    assert reason.startswith("'north/b.md' ")
    assert reason in raptor("status", *home).out
    Curator(made.home.path).set_document_aside("north/b.md", Author("Ines"))
    assert raptor("status", "--json", *home).json["withheld"] == {}
    report = made.build()
    assert report.built == ["north"]
    with made.access().store.open_existing() as store:
        (manifest,) = store.manifests()
    assert list(manifest.documents) == ["north/a.md"]
    assert decide(made.access()).actions == ()


@pytest.mark.parametrize("is_deleted", [False, True], ids=["set aside", "deleted"])
def test_a_document_that_is_set_aside_goes_at_once_though_another_of_its_tree_is_broken(
    tmp_path, is_deleted
):
    made = Workshop(tmp_path)
    made.configure(source={"paths": [str(made.docs)]}, grouping={"by": "folder"})
    for seed, name in enumerate(("north/a.md", "north/b.md", "south/c.md")):
        made.write(name, prose(4, seed=seed))
    made.build()
    made.home.settings_path.write_text(settings_text(made.docs, grouping={"by": "folder"}))
    made.write("north/a.md", f"---\nreaders: [{{{{ x\n---\n{prose(4)}")
    if is_deleted:
        made.remove("north/b.md")
    else:
        Curator(made.home.path).set_document_aside("north/b.md", Author("Ines"))
    assert made.build().built == []
    assert list(made.manifests()["north"].documents) == ["north/a.md"]
    assert decide(made.access()).actions == ()


def test_the_last_chunk_of_a_document_is_set_aside_with_its_document(tmp_path):
    made = Workshop(tmp_path)
    made.write("a.md", "The vault stayed cold after the relay closed.")
    made.build()
    made.home.settings_path.write_text(settings_text(made.docs))
    with made.access().store.open_existing() as store:
        (leaf,) = store.nodes(Where(layers=(0,)))
    curator = Curator(made.home.path)
    with pytest.raises(CurationError, match="set the whole document aside"):
        curator.set_chunk_aside(leaf.id, Author("Ines"))
    curator.set_document_aside("a.md", Author("Ines"))
    assert made.build().failed == {}


def test_an_edit_that_leaves_only_set_aside_chunks_sets_the_document_aside(tmp_path):
    made = Workshop(tmp_path)
    made.configure(source={"paths": [str(made.docs)]}, grouping={"by": "folder"})
    secret = "The vault stayed cold after the relay closed."
    for name in ("north/a.md", "south/b.md"):
        made.write(name, f"{secret}\n\n{prose(4, seed=1)}")
    made.write("north/c.md", prose(4, seed=2))
    made.build()
    made.home.settings_path.write_text(settings_text(made.docs, grouping={"by": "folder"}))
    with made.access().store.open_existing() as store:
        leaves = [n for n in store.nodes(Where(layers=(0,))) if n.text == secret]
    decisions = [Curator(made.home.path).set_chunk_aside(n.id, Author("Ines")) for n in leaves]
    made.build()
    for name in ("north/a.md", "south/b.md"):
        made.write(name, secret)
    home = ["--home", made.home.path]
    with embedder_made_by(lambda *_, **__: made.embedder):
        assert "south/b.md: is treated as set aside" in raptor("plan", *home).err
    report = made.build()
    assert (report.built, report.dropped, report.failed) == (["north"], ["south"], {})
    assert {item.name for item in report.skipped} == {"north/a.md", "south/b.md"}
    assert {name for m in made.manifests().values() for name in m.documents} == {"north/c.md"}
    assert decide(made.access()).actions == ()
    assert raptor("status", "--json", *home).json["set_aside"] == ["north/a.md", "south/b.md"]
    Curator(made.home.path).take_back(decisions[0].id, Author("Per"))
    assert made.build().built == ["north"]
    assert "north/a.md" in made.manifests()["north"].documents
