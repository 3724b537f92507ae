"""What a rebuild leaves in the metadata: planned against made, and drift."""

import pytest
from support.homes import built_once, copy_home
from support.workshop import Workshop, prose

from raptor_core.tree import cluster

pytestmark = pytest.mark.slow


SETTINGS = {
    "grouping": {"by": "corpus"},
    "clustering": {"method": "raptor"},
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


def test_many_placed_nodes_fit_the_touched_clusters_again(workshop, monkeypatch):
    monkeypatch.setattr(cluster, "REFIT_SHARE", 0.01)
    monkeypatch.setattr(cluster, "COHESION_LOSS", 0.0)
    workshop.write("c.md", prose(20, seed=3))
    workshop.build()
    then = workshop.metadata("tree", "corpus")
    assert then["layers_fitted"] > 0
    assert then["summaries_made"] == then["summaries_planned"]
