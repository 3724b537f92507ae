"""One home that is built once, with the bundled model, for all tests of the command."""

import pytest
from support.command import Place, embedder_made_by
from support.homes import copy_home, put_back

from raptor_core.models.embedding import make_embedder

ISLAND = """# The lighthouse at Skerry Point

## The lamp

The lamp was lit in 1872 by Agnes Moor. It burned rape oil until 1911, when paraffin came. The
keeper wound the clockwork every four hours, by day in fog and every night.

## The storm

In the storm of January 1953 the sea broke the gallery windows. The keeper, Tom Ferris, kept the
lamp burning for nineteen hours with a coat over the broken pane. Two trawlers came home by it.

## The end

The light was made automatic in 1984. The clockwork stands in the museum at Farness. A diesel
engine runs the foghorn now, and nobody lives on the rock.
"""
HARBOUR = """# The harbour of Farness

## Trade

Farness shipped herring to the Baltic until 1914. Forty curing yards stood along the quay, and the
women who gutted the fish came down from the north each June.

## The breakwater

The breakwater was begun in 1890 and finished in 1903 at three times its price. The storm of
January 1953 moved four blocks of thirty tons. They were set back with a floating crane.

## Today

The harbour lives on crab, on yachts and on the museum, which shows the clockwork of the
lighthouse. The quay was raised by half a metre in 2019.
"""
RECIPE = """# Crab soup

Boil two crabs for twelve minutes. Roast the shells with fennel and an onion. Add a litre of water
and a glass of sherry, and simmer for an hour. Strain, add cream, and serve with the white meat.
"""


@pytest.fixture(scope="session")
def bundled_model():
    """The real model, loaded once."""
    with embedder_made_by(make_embedder):
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory, bundled_model):
    """A home with two trees in a folder and one beside it; not to be changed."""
    place = Place(tmp_path_factory.mktemp("built"))
    place.write("farness/lighthouse.md", ISLAND)
    place.write("farness/harbour.md", HARBOUR)
    place.write("soup.md", RECIPE)
    assert place.call("init", place.docs).code == 0
    place.configure("[chunking]\nmax_tokens = 40")
    built = place.call("build", "--json")
    assert built.code == 0, built
    assert built.json["failed"] == {}
    return place


@pytest.fixture(scope="session")
def snapshot(built, tmp_path_factory):
    """The built home as it was, to put it back."""
    kept = tmp_path_factory.mktemp("kept") / "root"
    copy_home(built.root, kept)
    return kept


@pytest.fixture
def own(built, snapshot):
    """The built home, which a test may change; it is put back afterwards.

    A copy elsewhere would have other document paths, and so would be built anew.
    """
    yield built
    put_back(built.root, snapshot)
