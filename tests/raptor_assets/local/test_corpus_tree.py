"""The corpus tree: built after the trees, rebuilt as they change, and only then."""

import dagster as dg
import pytest
from support.command import embedder_made_by, raptor
from support.hashing import HashingEmbedder
from support.summarizers import ScriptedSummarizer
from support.workshop import NAMED_PARTS, SMALL, TWO_LAYERS, Workshop, prose

from raptor_assets import build_raptor_corpus
from raptor_assets.corpus.corpus_tree import BELOW_UNDER_WAY
from raptor_assets.home.source_state import rescan
from raptor_assets.local.build import update_corpus_tree
from raptor_assets.local.curate import Author, Curator
from raptor_assets.local.forecast import forecast_build
from raptor_assets.local.status import read_status
from raptor_core import HomeRetriever, Query
from raptor_core.errors import UnknownTreeError
from raptor_core.report.data import report_values
from raptor_core.report.values import Report, ReportTree
from raptor_core.tables.files import TableStore
from raptor_core.tree.corpus_tree import CORPUS_TREE_NAME

pytestmark = pytest.mark.slow


class CorpusTreeWorkshop(Workshop):
    """A workshop with a corpus tree over its trees."""

    def __init__(self, root, n_documents=6):
        self.summarizer = ScriptedSummarizer()
        parts = {"summarizer": self.summarizer}
        super().__init__(root, components=parts, corpus_tree={"enabled": True}, **TWO_LAYERS)
        for number in range(n_documents):
            self.write(f"{number:02}.md", prose(12, seed=number))

    def build_all(self, **options):
        """Build the trees, then the corpus tree; return its report and number of summaries."""
        self.build(**options)
        before = self.summarizer.n_made
        report = update_corpus_tree(self.home, self.settings, components=self.components)
        (self.home.path / "raptor.toml").write_text("[corpus_tree]\nenabled = true\n")
        return report, self.summarizer.n_made - before

    def plan(self):
        scan = rescan(TableStore(self.home.tables_url(self.settings)), self.settings.source)
        plan = forecast_build(self.home, self.settings, scan, components=self.components).plan
        return next(tree for tree in plan.trees if tree.tree == CORPUS_TREE_NAME)

    @property
    def retriever(self):
        return HomeRetriever(self.home.path, self.components)

    def above(self):
        return self.retriever.nodes(CORPUS_TREE_NAME)

    def copied(self):
        """Texts of the leaves of the corpus tree, by the id of the node that each copies."""
        return {node.copied_node_id: node.text for node in self.above() if node.is_leaf}

    def tops(self):
        manifests = [m for m in self.retriever.manifests() if m.tree != CORPUS_TREE_NAME]
        height = {manifest.tree: len(manifest.layer_sizes) - 1 for manifest in manifests}
        nodes = (node for tree in height for node in self.retriever.nodes(tree))
        return {node.id: node.text for node in nodes if node.layer == height[node.tree]}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    made = CorpusTreeWorkshop(tmp_path_factory.mktemp("trees"))
    first, n_made = made.build_all()
    assert first.built == [CORPUS_TREE_NAME]
    assert n_made == sum(not node.is_leaf for node in made.above())
    return made


def test_its_leaves_are_the_top_nodes_and_nothing_is_made_twice(workshop):
    assert workshop.copied() == workshop.tops()
    again, n_made = workshop.build_all()
    assert (again.run_ids, again.built, n_made) == ([], [], 0)
    assert workshop.plan().action == "keep"
    root = workshop.above()[-1]
    assert {span.document for span in workshop.retriever.trace(root.id).spans} == {*root.documents}
    assert workshop.retriever.manifests()[-1].title == root.name
    shown = ReportTree(CORPUS_TREE_NAME, "", "", "", tuple(workshop.above()))
    assert all(node["m"] for node in report_values(Report(CORPUS_TREE_NAME, (shown,)))["nodes"])
    with workshop.instance() as instance:
        (run,) = instance.get_runs(dg.RunsFilter(job_name="corpus_tree_sync"))
    assert run.tags[".dagster/repository"] == "__repository__@raptor_assets.local.definitions"


def test_the_command_asks_the_scope_that_it_is_given(workshop):
    for scope in ("corpus", "both"):
        words = ("ask", "the river", "--scope", scope, "--json", "--home", workshop.home.path)
        with embedder_made_by(lambda *_, **__: HashingEmbedder()):
            printed = raptor(*words)
        assert printed.code == 7
        trees = {node["tree"] for node in printed.json["found"]["nodes"]}
        assert CORPUS_TREE_NAME in trees
        assert (len(trees) > 1) == (scope == "both")


def test_an_edit_costs_the_ancestors_of_one_leaf_as_planned(workshop):
    before = {node.id: node for node in workshop.above()}
    workshop.write("03.md", prose(12, seed=99))
    planned = workshop.plan()
    assert (planned.n_leaves_added, planned.n_leaves_removed, planned.exact) == (1, 1, False)
    workshop.build()
    gone = workshop.copied().keys() - workshop.tops().keys()
    changed = {node.id for node in before.values() if node.copied_node_id in gone}
    assert len(changed) == 1
    (leaf,) = changed
    with pytest.raises(UnknownTreeError, match=r"'03\.md' under this node was dropped or rebuilt"):
        workshop.retriever.trace(leaf)
    least = 0
    while changed := {node.id for node in before.values() if changed & set(node.children)}:
        least += len(changed)
    _, n_made = workshop.build_all()
    assert least <= n_made <= least + 2
    assert abs(planned.summary_usage.calls - n_made) <= 2
    assert workshop.copied() == workshop.tops()


def test_what_is_decided_about_it_stands_after_the_next_build(workshop):
    top = max(workshop.above(), key=lambda node: node.layer)
    Curator(workshop.home.path).correct_summary(
        top.id, "All of it is about the sea.", Author("Ines")
    )
    workshop.build_all()
    assert "All of it is about the sea." in [node.text for node in workshop.above()]
    assert workshop.plan().summary_usage.calls == 0


def test_its_sensor_requests_one_run_which_leaves_nothing_of_a_document_that_goes(workshop):
    def tick():
        sensor = definitions.resolve_sensor_def("corpus_tree_source_sensor")
        repository = definitions.get_repository_def()
        context = dg.build_sensor_context(instance=instance, repository_def=repository)
        return sensor.evaluate_tick(context)

    text = next(node.text for node in workshop.above() if node.documents == ("05.md",))
    workshop.remove("05.md")
    workshop.write("new.md", prose(12, seed=77))
    workshop.build()
    definitions = workshop.definitions()
    with workshop.instance() as instance:
        (request,) = tick().run_requests
        job = definitions.resolve_job_def(request.job_name)
        assert job.name == "corpus_tree_sync"
        options = {"run_config": request.run_config, "tags": request.tags, "instance": instance}
        assert job.execute_in_process(**options).success
        assert not tick().run_requests
        assert workshop.copied() == workshop.tops()
        documents = {name for node in workshop.above() for name in node.documents}
        assert documents == {f"{n:02}.md" for n in range(5)} | {"new.md"}
        kept = workshop.home.corpus_tree.path / "source" / "documents.jsonl"
        assert text not in kept.read_text()
        below = definitions.resolve_job_def("build")
        instance.create_run_for_job(below, status=dg.DagsterRunStatus.STARTED)
        assert tick().skip_message == BELOW_UNDER_WAY


def test_a_corpus_in_a_project_of_a_team_has_one_behind_its_trees(tmp_path):
    team = build_raptor_corpus(
        "handbook",
        home=tmp_path / "kept",
        source={"paths": [str(tmp_path)]},
        corpus_tree={"enabled": True},
        **{**SMALL, "components": NAMED_PARTS},
    )
    graph = team.resolve_asset_graph()
    source, documents = (
        dg.AssetKey(["handbook", "corpus_tree", name]) for name in ("source", "documents")
    )
    assert graph.get(source).parent_keys == {dg.AssetKey(["handbook", "tree"])}
    assert graph.get(documents).parent_keys == {source}
    sensor = team.resolve_sensor_def("handbook_corpus_tree_source_sensor")
    assert "handbook_corpus_tree_sync" in {job.name for job in sensor.jobs}


def test_with_too_few_trees_there_is_none(workshop):
    for path in workshop.docs.glob("*.md"):
        if path.name not in ("00.md", "01.md"):
            path.unlink()
    done, n_made = workshop.build_all(confirm_removal=True)
    assert (done.dropped, n_made) == ([CORPUS_TREE_NAME], 0)
    trees = read_status(workshop.home, workshop.settings).trees
    assert [tree.manifest.tree for tree in trees] == ["00.md", "01.md"]
    with pytest.raises(UnknownTreeError):
        workshop.retriever.search("what?", Query(scope="corpus"))
    assert workshop.build_all()[0] is None
