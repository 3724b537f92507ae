"""No step and no check refuses a summary of the extractive summarizer."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from support.examples import examples
from support.hashing import HashingEmbedder

from raptor_core.checks.base import CheckedLayer
from raptor_core.checks.registry import check_layer
from raptor_core.documents.base import Document
from raptor_core.settings import Settings
from raptor_core.tree.build import build_tree
from raptor_core.tree.components import Components

CONTENTS = ["Of Name List. Set 36.17. Set Name by", "Use It is the"]
PIECES = st.sampled_from(
    [
        *("36.17. ", "List. ", "Set ", "Name ", "It ", "a. ", "Parameters of the ", "and "),
        *("(", ", ", "[truncated] ", "\ufffd" * 9),
        *("It ended. ", "Error: rate limit exceeded. ", "I cannot help with that. ", "x" * 60),
        *("0.1 | 2 | ", "🌊", "水位計", "كان ", "\u200b", "la la la la la la la la ", "\n", "\n\n"),
    ]
)
NASTY = (
    st.lists(PIECES | st.text(max_size=12), min_size=1, max_size=60).map("".join).filter(str.strip)
)
SETTINGS = Settings.model_validate(
    {
        "chunking": {"max_tokens": 16, "max_context_tokens": 0},
        "summarizer": {"ratio": 0.9, "max_tokens": 40, "min_tokens": 8},
        "clustering": {"method": "contiguous", "max_tokens": 200},
        "tree": {"top_nodes": 1},
    }
)


@examples(40)
@given(st.lists(NASTY, min_size=1, max_size=4))
@example(CONTENTS)
def test_any_text_is_built_and_passes_the_checks_that_block(texts):
    components = Components(SETTINGS, embedder=HashingEmbedder())
    documents = [Document(f"{n}.html", text) for n, text in enumerate(texts)]
    tree = build_tree(documents, components=components)
    for below, layer in pairwise(tree.layers):
        known = {node.id: node for node in below.nodes}
        verdicts = check_layer(CheckedLayer(layer.nodes, known, SETTINGS, quotes=components.quotes))
        assert not [v for v in verdicts if not v.passed and v.severity == "error"]
