"""The corpus tree: built after them, rebuilt as they change, and only then."""

import json
from dataclasses import replace

import dagster as dg
import pytest
from support.command import raptor
from support.summarizers import ScriptedSummarizer
from support.workshop import NAMED_PARTS, SMALL, Workshop, prose

from raptor_assets import build_raptor_corpus
from raptor_assets.assets.names import CorpusNames
from raptor_assets.corpus.corpus_tree import BELOW_UNDER_WAY
from raptor_assets.home.source_state import look
from raptor_assets.local.build import update_corpus_tree
from raptor_assets.local.curate import Author, Curator
from raptor_assets.local.forecast import forecast
from raptor_assets.local.status import read_status
from raptor_assets.serving.reading import HomeReader, SearchParameters
from raptor_core import build_trees
from raptor_core.errors import SettingsError, UnknownTreeError
from raptor_core.home import HomeRetriever
from raptor_core.home.published import open_published
from raptor_core.nodes import TOP_NODE
from raptor_core.report.data import report_values
from raptor_core.report.values import Report, ReportTree
from raptor_core.retrieval import Query
from raptor_core.store.base import Where
from raptor_core.tables.curation import decide
from raptor_core.tables.files import TableStore
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME, build_corpus_tree, corpus_tree_settings
from raptor_core.tree.corpus_tree import TREE as TREE_BELOW

pytestmark = pytest.mark.slow

N_DOCUMENTS = 14


class CorpusTreeWorkshop(Workshop):
    """A workshop with a tree above its trees."""

    def above(self):
        return update_corpus_tree(self.home, self.settings, components=self.components)

    def build_all(self, **options):
        """Build the trees, then the tree above; return that and the summaries made for it."""
        self.build(**options)
        before = self.summarizer.n_made
        done = self.above()
        return done, self.summarizer.n_made - before

    @property
    def summarizer(self):
        return self.parts_given["summarizer"]

    @property
    def reader(self):
        (self.home.path / "raptor.toml").write_text("")
        found = HomeRetriever(self.home.path, self.components)
        found.settings = self.settings
        return found

    def nodes_above(self):
        home = self.home.corpus_tree
        with open_published(home, corpus_tree_settings(self.settings)) as store:
            return store.nodes()


def made_in(folder):
    made = CorpusTreeWorkshop(
        folder,
        components={"summarizer": ScriptedSummarizer()},
        corpus_tree={"enabled": True},
        clustering={"method": "raptor"},
    )
    for number in range(N_DOCUMENTS):
        made.write(f"{number:02}.md", prose(12, seed=number))
    return made


@pytest.fixture
def workshop(tmp_path):
    return made_in(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """One that is only read."""
    made = made_in(tmp_path_factory.mktemp("built"))
    made.build_all()
    return made


def tops(workshop):
    """Top nodes of what is published below, by id."""
    with open_published(workshop.home, workshop.settings) as store:
        height = {m.tree: len(m.layer_sizes) - 1 for m in store.manifests()}
        return {node.id: node for node in store.nodes() if node.layer == height[node.tree]}


def nodes_of(workshop, tree):
    with open_published(workshop.home, workshop.settings) as store:
        return [node for node in store.nodes() if node.tree == tree]


def stands_for(workshop):
    return {node.stands_for: node.text for node in workshop.nodes_above() if node.is_leaf}


def test_its_leaves_are_the_top_nodes_and_nothing_is_made_twice(workshop):
    first, n_made = workshop.build_all()
    assert first.built == [CORPUS_TREE_NAME]
    assert n_made == sum(not node.is_leaf for node in workshop.nodes_above())
    assert stands_for(workshop) == {key: node.text for key, node in tops(workshop).items()}
    again, n_made = workshop.build_all()
    assert (again.run_ids, again.built, n_made) == ([], [], 0)


def test_an_edit_costs_the_ancestors_of_one_leaf(workshop):
    workshop.build_all()
    workshop.write("03.md", prose(12, seed=99))
    workshop.build()
    gone = set(stands_for(workshop)) - set(tops(workshop))
    assert len(gone) == 1
    before = {node.id: node for node in workshop.nodes_above()}
    changed = {node.id for node in before.values() if node.stands_for in gone}
    least = 0
    while changed := {one.id for one in before.values() if changed & set(one.children)}:
        least += len(changed)
    n_before = workshop.summarizer.n_made
    workshop.above()
    assert least <= workshop.summarizer.n_made - n_before <= least + 2
    assert stands_for(workshop) == {key: node.text for key, node in tops(workshop).items()}


def test_a_document_that_goes_or_comes_changes_it_and_nothing_of_it_is_left(workshop):
    workshop.build_all()
    text = next(node.text for node in tops(workshop).values() if node.tree == "05.md")
    workshop.remove("05.md")
    workshop.write("new.md", prose(12, seed=77))
    _, n_made = workshop.build_all()
    assert n_made > 0
    documents = {name for node in workshop.nodes_above() for name in node.documents}
    assert "05.md" not in documents
    assert "new.md" in documents
    assert all(node.text != text for node in workshop.nodes_above())
    assert text not in json.dumps(
        (workshop.home.corpus_tree.path / "source" / "documents.jsonl").read_text()
    )


def test_what_is_decided_about_it_stands_after_the_next_build(workshop):
    workshop.build_all()
    (workshop.home.path / "raptor.toml").write_text("[corpus_tree]\nenabled = true\n")
    top, *_, leaf = sorted(workshop.nodes_above(), key=lambda node: -node.layer)
    curator, author = Curator(workshop.home.path), Author("Ines")
    curator.correct(top.id, "All of it is about the sea.", author)
    workshop.above()
    assert "All of it is about the sea." in [node.text for node in workshop.nodes_above()]
    curator.set_chunk_aside(leaf.id, author)
    workshop.above()
    assert leaf.text not in [node.text for node in workshop.nodes_above()]
    scan = look(TableStore(str(workshop.home.path / "tables")), workshop.settings.source)
    told = forecast(workshop.home, workshop.settings, scan, components=workshop.components)
    assert [tree.action for tree in told.plan.trees] == ["keep"]
    for decision in curator.decisions():
        curator.take_back(decision.id, author)
    workshop.above()
    assert {top.text, leaf.text} <= {node.text for node in workshop.nodes_above()}


def test_a_tree_called_corpus_keeps_its_decisions_wherever_they_were_written(workshop):
    rows = [{"id": "corpus", "text": prose(12, seed=90)}, {"id": "/corpus", "text": prose(3)}]
    workshop.write("rows.jsonl", "\n".join(map(json.dumps, rows)))
    report = workshop.build()
    assert any("name of the corpus tree" in item.reason for item in report.skipped)
    assert workshop.above().built == [CORPUS_TREE_NAME]
    assert "corpus" in {node.metadata.get(TREE_BELOW) for node in workshop.nodes_above()}
    (workshop.home.path / "raptor.toml").write_text("[corpus_tree]\nenabled = true\n")
    leaves = [node for node in nodes_of(workshop, "corpus") if node.is_leaf]
    Curator(workshop.home.path).set_chunk_aside(leaves[0].id, Author("Ines"))
    settings = corpus_tree_settings(workshop.settings)
    misplaced = workshop.home.corpus_tree.table_store(settings)
    decide(misplaced, "chunk", "corpus", leaves[1].id, who="Ines")
    assert workshop.build().built == ["corpus"]
    now = {node.text for node in nodes_of(workshop, "corpus") if node.is_leaf}
    assert now == {leaf.text for leaf in leaves[2:]}
    curator = Curator(workshop.home.path)
    for decision in curator.decisions():
        curator.take_back(decision.id, Author("Ines"))
    workshop.build()
    assert len([n for n in nodes_of(workshop, "corpus") if n.is_leaf]) == len(leaves)


def test_with_too_few_trees_there_is_none(workshop):
    workshop.build_all()
    for number in range(2, N_DOCUMENTS):
        workshop.remove(f"{number:02}.md")
    done, n_made = workshop.build_all(confirm_removal=True)
    assert (done.dropped, n_made) == ([CORPUS_TREE_NAME], 0)
    assert [tree.manifest.tree for tree in read_status(workshop.home, workshop.settings).trees] == [
        "00.md",
        "01.md",
    ]
    with pytest.raises(UnknownTreeError):
        workshop.reader.plan_answer("what?")
    assert workshop.above() is None


def test_the_plan_tells_its_calls(workshop):
    workshop.build_all()
    workshop.write("03.md", prose(12, seed=99))
    tables = TableStore(workshop.home.tables_url(workshop.settings))
    scan = look(tables, workshop.settings.source)
    found = forecast(
        workshop.home, workshop.settings, scan, components=workshop.components
    ).plan.trees
    (above,) = [tree for tree in found if tree.tree == CORPUS_TREE_NAME]
    assert (above.n_leaves_added, above.n_leaves_removed, above.exact) == (1, 1, False)
    before = workshop.summarizer.n_made
    workshop.build()
    _, n_made = workshop.build_all()
    assert abs(above.summaries.calls - n_made) <= 2
    assert workshop.summarizer.n_made > before


def test_a_node_of_it_is_traced_to_the_spans_of_the_documents(built):
    root = built.nodes_above()[-1]
    (title,) = [one.title for one in built.reader.manifests() if one.tree == CORPUS_TREE_NAME]
    assert title == root.name
    shown = ReportTree(CORPUS_TREE_NAME, "", "", "", tuple(built.nodes_above()))
    assert all(node["m"] for node in report_values(Report(CORPUS_TREE_NAME, (shown,)))["nodes"])
    spans = built.reader.trace(root.id).spans
    assert {span.document for span in spans} == set(root.documents)
    for span in spans:
        text = (built.docs / span.document).read_text()
        assert text[span.start : span.end] == span.text
    leaf = next(node for node in built.nodes_above() if node.is_leaf)
    (child,) = built.reader.family(leaf.id).children
    assert (child.id, child.text) == (leaf.metadata[TOP_NODE], leaf.text)


def test_searches_reach_it_by_name_and_mix_no_text_twice(built):
    question = tops(built).popitem()[1].text
    reader = built.reader
    for strategy in ("hybrid", "collapsed", "flat", "traversal"):
        wide = Query(strategy, 4000)
        ids = {hit.node.id for hit in reader.search(question, wide).hits}
        assert ids.isdisjoint(node.id for node in built.nodes_above()), strategy
        above = reader.search(
            question, Query(strategy, 4000, where=Where(trees=(CORPUS_TREE_NAME,)))
        )
        assert above.hits, strategy
        assert {hit.node.tree for hit in above.hits} == {CORPUS_TREE_NAME}
        led = reader.search(question, Query(strategy, 4000, scope="corpus"))
        assert led.hits, strategy
        assert 0 < len({hit.node.tree for hit in led.hits}) <= 5


def test_a_question_is_led_past_a_tree_that_was_dropped_since(workshop):
    workshop.build_all()
    top = tops(workshop).popitem()[1]
    query = Query("flat", 4000, scope="corpus")
    assert top.tree in {hit.node.tree for hit in workshop.reader.search(top.text, query).hits}
    workshop.drop(top.tree)
    found = workshop.reader.search(top.text, query)
    assert found.hits
    assert top.tree not in {hit.node.tree for hit in found.hits}
    with pytest.raises(UnknownTreeError, match=top.tree):
        workshop.reader.search(top.text, replace(query, where=Where(trees=(top.tree,))))
    leaf = next(node for node in workshop.nodes_above() if node.stands_for == top.id)
    for read in (workshop.reader.trace, workshop.reader.family):
        with pytest.raises(UnknownTreeError, match=f"'{top.tree}' under this node was dropped"):
            read(leaf.id)


def test_a_layer_of_the_corpus_tree_is_read_in_parts(built):
    depth = max(node.layer for node in built.nodes_above())
    layers = tuple(range(depth + 1))
    plan = built.reader.plan_answer("what?", Query(budget_tokens=200, where=Where(layers=layers)))
    assert len(plan.parts) <= 8
    assert plan.calls == len(plan.parts) + (len(plan.parts) > 1)
    assert all(sum(node.n_tokens for node in part) <= 200 for part in plan.parts)
    layer = [node for node in built.nodes_above() if node.layer == plan.layer]
    assert sorted(node.id for node in plan.nodes) == sorted(node.id for node in layer)
    with pytest.raises(SettingsError, match=f"0 to {depth}, got 9"):
        built.reader.plan_answer("what?", Query(where=Where(layers=(9,))))


def test_an_answer_reads_the_corpus_tree_and_the_passages_of_the_right_document(built):
    chunk = next(node for node in built.reader.nodes("05.md") if node.is_leaf)
    plan = built.reader.plan_answer(chunk.text, Query(budget_tokens=300))
    assert (plan.layer, plan.calls) == (None, 1)
    assert sum(node.n_tokens for node in plan.nodes) <= 300
    assert chunk.text in "".join(node.text for node in plan.nodes if node.tree == "05.md")
    n_detailed = len({node.tree for node in plan.nodes if node.tree != CORPUS_TREE_NAME})
    assert f" of {N_DOCUMENTS} documents, {n_detailed} of them in detail" in plan.reads
    for node in plan.nodes:
        for span in built.reader.trace(node.id).spans:
            text = (built.docs / span.document).read_text()
            assert text[span.start : span.end] == span.text


def test_a_question_that_names_nothing_is_answered_from_the_corpus_tree_alone(built):
    plan = built.reader.plan_answer("Summarize everything.", Query(budget_tokens=400))
    assert plan.nodes
    assert {node.tree for node in plan.nodes} == {CORPUS_TREE_NAME}


def test_an_answer_about_everything_names_what_it_was_made_from(built):
    query = {"question": "how many are there?", "scope": "corpus", "budget_tokens": 200}
    response = HomeReader(built.reader).ask(SearchParameters.model_validate(query))
    cited = [citation.node for citation in response.citations]
    assert cited
    assert cited == [node.id for node in response.found.nodes]
    assert response.found.n_tokens == sum(node.n_tokens for node in response.found.nodes)
    assert f" of {N_DOCUMENTS} documents" in response.found.reason
    assert "asks for a count over all documents" in response.found.reason


@pytest.mark.parametrize(
    ("name", "value"), [("trees", ["00.md"]), ("documents", ["00.md"]), ("strategy", "flat")]
)
def test_an_answer_about_everything_refuses_what_would_narrow_it(built, name, value):
    asked = SearchParameters.model_validate({"question": "what?", "scope": "corpus", name: value})
    with pytest.raises(SettingsError, match=f"takes no {name}"):
        HomeReader(built.reader).ask(asked)


def test_the_lineage_shows_it_above_the_trees(workshop):
    graph = workshop.definitions().resolve_asset_graph()
    source, documents = (
        dg.AssetKey(["corpus_tree", "source"]),
        dg.AssetKey(["corpus_tree", "documents"]),
    )
    assert graph.get(source).parent_keys == {dg.AssetKey("tree")}
    assert graph.get(documents).parent_keys == {source}
    assert dg.AssetKey(["corpus_tree", "layer_1", "summaries"]) in graph.get_all_asset_keys()
    workshop.configure()
    plain = workshop.definitions().resolve_asset_graph().get_all_asset_keys()
    assert not [key for key in plain if key.path[0] == "corpus_tree"]


def tick(workshop, instance):
    sensor = workshop.definitions().resolve_sensor_def("corpus_tree_source_sensor")
    context = dg.build_sensor_context(
        instance=instance, repository_def=workshop.definitions().get_repository_def()
    )
    return sensor.evaluate_tick(context)


def test_its_sensor_requests_one_run_once_trees_are_published(workshop):
    workshop.build()
    with workshop.instance() as instance:
        asked = tick(workshop, instance)
        assert [request.job_name for request in asked.run_requests] == ["corpus_tree_build"]
        instance.add_dynamic_partitions("corpus_tree_trees", [CORPUS_TREE_NAME])
        job = workshop.definitions().resolve_job_def("corpus_tree_build")
        (request,) = asked.run_requests
        done = job.execute_in_process(
            run_config=request.run_config, tags=request.tags, instance=instance
        )
        assert done.success
        assert not tick(workshop, instance).run_requests
        assert workshop.nodes_above()
        below = workshop.definitions().resolve_job_def("build")
        instance.create_run_for_job(below, status=dg.DagsterRunStatus.STARTED)
        assert tick(workshop, instance).skip_message == BELOW_UNDER_WAY


def test_its_run_is_filed_under_the_code_location(built):
    with built.instance() as instance:
        (run,) = instance.get_runs(dg.RunsFilter(job_name="corpus_tree_sync"))
    assert run.tags[".dagster/repository"] == "__repository__@raptor_assets.local.definitions"


def test_a_corpus_in_a_project_of_a_team_has_one_by_its_sensors(tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(3):
        (docs / f"{number}.md").write_text(prose(12, seed=number))
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    team = build_raptor_corpus(
        "handbook",
        home=tmp_path / "kept",
        source={"paths": [str(docs)]},
        corpus_tree={"enabled": True},
        components=NAMED_PARTS,
        **SMALL,
    )

    def look_of(instance, name):
        found = team.resolve_sensor_def(name)(dg.build_sensor_context(instance))
        for request in found.dynamic_partitions_requests or ():
            instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        for run in found.run_requests:
            job = team.resolve_job_def(run.job_name)
            assert job.execute_in_process(
                instance=instance, tags=run.tags, run_config=run.run_config
            ).success
        return [run.job_name for run in found.run_requests]

    sensors = "handbook_source_sensor", "handbook_corpus_tree_source_sensor"
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
        asked = [look_of(instance, name) for name in sensors]
        assert asked == [["handbook_build"], ["handbook_corpus_tree_build"]]
        key = dg.AssetKey(["handbook", "corpus_tree", "tree"])
        assert instance.get_materialized_partitions(key) == {CORPUS_TREE_NAME}
    kept = "--home", tmp_path / "kept"
    assert "the top of 0.md" in raptor("tree", CORPUS_TREE_NAME, *kept).out
    (docs / "1.md").write_text(prose(12, seed=8))
    done = raptor("build", "--partition", "1.md", "--json", *kept).json
    assert (done["built"], done["corpus_tree"]["built"]) == (["1.md"], [CORPUS_TREE_NAME])


def test_a_corpus_with_a_name_has_one_of_its_own():
    named = CorpusNames("handbook", "handbook")
    above = named.corpus_tree()
    assert above.corpus == "handbook_corpus_tree"
    assert above.summaries(1).shown == "handbook/corpus_tree/layer_1/summaries"
    assert above.partitions == "handbook_corpus_tree_trees"


def test_it_is_built_by_a_plain_function_call_too(workshop):
    from raptor_core import Document

    trees = build_trees(
        {str(n): [Document(str(n), prose(12, seed=n))] for n in range(N_DOCUMENTS)},
        components=workshop.components,
    )
    found = build_corpus_tree(list(trees.values()), components=workshop.components)
    assert found.name == CORPUS_TREE_NAME
    assert {leaf.stands_for for leaf in found.layers[0].nodes} == {
        node.id for tree in trees.values() for node in tree.layers[-1].nodes
    }
    again = build_corpus_tree(list(trees.values()), components=workshop.components, previous=found)
    assert [node.id for node in again.nodes()] == [node.id for node in found.nodes()]
