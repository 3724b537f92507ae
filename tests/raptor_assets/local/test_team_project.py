"""Corpora in a team's own Dagster project, beside definitions that go by the same names as ours."""

import json

import dagster as dg
import pandas as pd
import pytest
from click.testing import CliRunner
from support.team import run_requested
from support.workshop import NAMED_PARTS, SMALL, TWO_LAYERS, Workshop, prose

from raptor_assets import build_raptor_corpus, corpus_partitions
from raptor_assets.cli import main
from raptor_assets.home.folder import Home

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Function `Definitions.map_:dagster.PreviewWarning"),
    pytest.mark.filterwarnings("ignore:Parameter `owners` of initializer:dagster.BetaWarning"),
]

QUICK = {**SMALL, **TWO_LAYERS, "components": NAMED_PARTS}


def owned(definitions):
    """Give assets an owner, as Dagster's own function does."""
    return definitions.map_asset_specs(
        func=lambda spec: spec.replace_attributes(owners=["team:docs"])
    )


class Memory(dg.InMemoryIOManager):
    """The team's own IO manager."""


def team_definitions():
    """What a team may have called so already."""

    @dg.asset
    def documents():
        return 1

    @dg.asset
    def chunks(documents):
        return documents

    @dg.asset(
        partitions_def=corpus_partitions("handbook"),
        ins={"summaries": dg.AssetIn(["kb", "handbook", "layer_1", "summaries"])},
    )
    def longest_summary(summaries: pd.DataFrame):
        return int(summaries["n_tokens"].max())

    @dg.op
    def drop(): ...

    @dg.job
    def build():
        drop()

    @dg.sensor(job=build)
    def source_sensor(): ...

    return dg.Definitions(
        assets=[documents, chunks, longest_summary],
        jobs=[build],
        sensors=[source_sensor],
        resources={"io_manager": Memory(), "source": 1, "tables": 2, "components": 3},
        executor=dg.multiprocess_executor,
    )


class Project:
    """A team's folder: two corpora, an instance of its own."""

    def __init__(self, root):
        self.root = root
        self.instance_folder = root / "instance"
        self.instance_folder.mkdir()
        (self.instance_folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
        for name in ("handbook", "guides"):
            (root / name).mkdir()
            for number in range(2):
                (root / name / f"{number}.md").write_text(prose(16, seed=number))
        self.instance = dg.DagsterInstance.from_config(str(self.instance_folder))
        self.definitions = dg.Definitions.merge(
            team_definitions(),
            owned(self.corpus("handbook", ["kb", "handbook"])),
            self.corpus("guides"),
        )
        self.cursors = {}

    def corpus(self, name, key_prefix=None):
        source = {"paths": [str(self.root / name)]}
        home = self.root / "kept" / name
        return build_raptor_corpus(name, home=home, key_prefix=key_prefix, source=source, **QUICK)

    def tick(self, name):
        """One tick of a corpus's sensor, and the runs that it asked for; their partitions."""
        sensor = self.definitions.resolve_sensor_def(f"{name}_source_sensor")
        found = sensor(dg.build_sensor_context(self.instance, cursor=self.cursors.get(name)))
        if isinstance(found, dg.SkipReason):
            return []
        self.cursors[name] = found.cursor
        return run_requested(found, self.definitions, self.instance)

    def command(self, name, *arguments):
        environment = {"DAGSTER_HOME": str(self.instance_folder)}
        home = str(self.root / "kept" / name)
        return CliRunner().invoke(main, [*arguments, "--home", home], env=environment)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("team"))
    assert made.tick("handbook") == ["0.md, 1.md"]
    assert made.tick("guides") == ["0.md, 1.md"]
    return made


def test_two_corpora_merge_with_a_team_that_took_all_names(project):
    graph = project.definitions.resolve_asset_graph()
    assert graph.get(dg.AssetKey(["guides", "tree"])).group_name == "guides"
    tree = graph.get(dg.AssetKey(["kb", "handbook", "tree"]))
    assert tree.owners == ["team:docs"]
    below = dg.AssetKey(["kb", "handbook", "layer_2", "embeddings"])
    assert below in tree.parent_keys
    jobs = {job.name for job in project.definitions.resolve_all_job_defs()}
    assert {"build", "handbook_build", "guides_build", "guides_drop_partitions"} <= jobs
    repository = project.definitions.get_repository_def()
    assert repository.get_top_level_resources().keys() >= {"source", "guides_tables_io_manager"}


def test_each_corpus_is_recorded_under_its_own_names(project):
    for name, prefix in (("handbook", ["kb", "handbook"]), ("guides", ["guides"])):
        assert project.instance.get_dynamic_partitions(f"{name}_trees") == ["0.md", "1.md"]
        tree = dg.AssetKey([*prefix, "tree"])
        found = project.instance.fetch_materializations(tree, limit=9).records
        assert {record.partition_key for record in found} == {"0.md", "1.md"}
        tags = found[0].asset_materialization.tags
        below = "/".join([*prefix, "layer_2", "embeddings"])
        assert tags[f"dagster/input_data_version/{below}"] not in ("", "INITIAL")
    assert not project.instance.get_dynamic_partitions("trees")
    assert not project.instance.fetch_materializations(dg.AssetKey("tree"), limit=1).records


def test_an_edit_rebuilds_one_partition_of_one_corpus_and_the_command_sees_it(project):
    assert project.tick("guides") == []
    page = project.root / "guides" / "1.md"
    page.write_text(page.read_text() + "\n\nThe lantern stands at the gate.\n")
    planned = json.loads(project.command("guides", "plan", "--json").stdout)
    assert planned["changed"] == ["1.md"]
    assert project.tick("guides") == ["1.md"]
    assert project.tick("handbook") == []
    status = json.loads(project.command("guides", "status", "--json").stdout)
    assert [tree["tree"] for tree in status["trees"]] == ["0.md", "1.md"]
    assert all(tree["checks"] for tree in status["trees"])


def test_the_command_asks_for_the_instance_of_the_project(project):
    home = str(project.root / "kept" / "guides")
    done = CliRunner().invoke(main, ["status", "--home", home], env={"DAGSTER_HOME": None})
    assert done.exit_code
    assert "'guides' is built in a Dagster project of its own" in done.output
    assert "DAGSTER_HOME, which is not set" in done.output
    done = project.command("guides", "ui")
    assert "run `dagster dev` there" in done.output


def test_its_jobs_keep_models_loaded_and_the_teams_executor_stays(project):
    job = project.definitions.resolve_job_def("guides_build")
    assert job.executor_def.name == "in_process"
    merged = project.definitions.resolve_implicit_global_asset_job_def()
    assert merged.executor_def.name == "multiprocess"


def test_settings_come_from_a_file_and_what_it_names_stands_beside_it(tmp_path):
    file = tmp_path / "corpus.toml"
    file.write_text('[tree]\nmax_layers = 1\n[checks]\ngolden = "questions.jsonl"\n')
    found = build_raptor_corpus("a", file, home=tmp_path / "home", key_prefix=["b", "c"])
    keys = {key.to_user_string() for key in found.resolve_all_asset_keys()}
    assert {"b/c/documents", "b/c/layer_1/summaries"} <= keys
    assert "b/c/layer_2/summaries" not in keys


def test_a_password_in_the_settings_does_not_go_into_the_home(tmp_path):
    home = Home(tmp_path)
    table = {"url": "postgresql://writer:hush@db/wiki", "table": "pages"}
    from raptor_assets.assets.names import CorpusNames
    from raptor_core.settings import Settings

    home.write_declaration(
        CorpusNames("a"), Settings.model_validate({"source": {"tables": [table]}})
    )
    assert "hush" not in home.declaration_path.read_text()
    assert home.read_names().corpus == "a"


@dg.asset(
    partitions_def=corpus_partitions(), ins={"summaries": dg.AssetIn(["layer_1", "summaries"])}
)
def longest_summary(context: dg.AssetExecutionContext, summaries: pd.DataFrame) -> None:
    (row,) = summaries.nlargest(1, "n_tokens").to_dict("records")
    context.add_asset_metadata({"layer": row["layer"], "n_children": len(row["children"])})


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    workshop = Workshop(tmp_path_factory.mktemp("team"), tree={"max_layers": 1})
    workshop.write("a.md", prose(16, seed=1))
    workshop.write("b.md", prose(16, seed=2))
    workshop.build()
    return workshop


def materialize(workshop, selection, *partitions, assets=()):
    definitions = dg.Definitions.merge(workshop.definitions(), dg.Definitions(assets=assets))
    with workshop.instance() as instance:
        return definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey(key.split("/")) for key in selection],
            tags={
                "dagster/asset_partition_range_start": partitions[0],
                "dagster/asset_partition_range_end": partitions[-1],
            },
        )


def test_a_downstream_asset_gets_the_nodes_of_its_partition(built):
    assert materialize(built, ["longest_summary"], "a.md", assets=[longest_summary]).success
    found = built.metadata("longest_summary", "a.md")
    assert found["layer"] == 1
    assert found["n_children"] >= 2


def test_one_layer_of_one_partition_is_made_from_what_is_kept(built):
    before = built.data_version("layer_1/summaries", "a.md")
    result = materialize(built, ["layer_1/summaries"], "a.md")
    events = result.asset_materializations_for_node("raptor")
    assert [(e.asset_key.path, e.partition) for e in events] == [(["layer_1", "summaries"], "a.md")]
    assert built.data_version("layer_1/summaries", "a.md") == before
