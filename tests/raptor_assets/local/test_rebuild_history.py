"""What a rebuild leaves in the metadata: planned against made, and drift."""

import pytest
from support.homes import built_once, copy_home
from support.workshop import Workshop, prose

from raptor_core.tree import cluster

pytestmark = pytest.mark.slow


SETTINGS = {
    "grouping": {"by": "corpus"},
    "clustering": {"method": "raptor", "cluster_size": 4},
    "tree": {"max_layers": 3},
}


def build_corpus(root):
    made = Workshop(root, **SETTINGS)
    made.write("a.md", prose(160, seed=1))
    made.write("b.md", prose(60, seed=2))
    made.build()


@pytest.fixture
def workshop(tmp_path_factory, tmp_path):
    """A published tree of two documents."""
    copy_home(built_once(tmp_path_factory, "corpus-of-two", build_corpus), tmp_path / "copy")
    return Workshop(tmp_path / "copy", **SETTINGS)


def test_a_rebuild_records_its_plan_its_calls_and_its_drift(workshop):
    first = workshop.metadata("tree", "corpus")
    assert first["plan_is_exact"] is False
    assert first["summaries_made"] > 10
    assert first["drift_layer_1"] == 0.0
    assert first["layers_fitted"] == 3
    n_leaves = workshop.metadata("chunks", "corpus")["n_nodes"]
    workshop.write("a.md", prose(160, seed=1).replace("river", "stream", 1))
    workshop.build()
    then = workshop.metadata("tree", "corpus")
    assert then["plan_is_exact"] is True
    assert then["summaries_made"] == then["summaries_planned"]
    assert then["summaries_lower_bound"] <= then["summaries_made"] < first["summaries_made"] / 2
    assert then["leaves_added"] == then["leaves_removed"] == 1
    assert then["drift_layer_1"] == pytest.approx(1 / n_leaves, abs=1e-4)


def test_many_placed_nodes_fit_the_touched_clusters_again(workshop, monkeypatch):
    monkeypatch.setattr(cluster, "REFIT_SHARE", 0.01)
    monkeypatch.setattr(cluster, "COHESION_LOSS", 0.0)
    workshop.write("c.md", prose(20, seed=3))
    workshop.build()
    then = workshop.metadata("tree", "corpus")
    assert then["layers_fitted"] > 0
    assert then["summaries_made"] == then["summaries_planned"]
