"""Making the leaves of a tree, which are the chunks of its documents as nodes.

``raptor_core.chunking`` splits documents into chunks; ``embed`` adds vectors.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from raptor_core.chunking.base import Chunk
from raptor_core.chunking.context import add_table_headers, context_lines
from raptor_core.chunking.outline import Parts, paragraph_parts
from raptor_core.curation import Curation
from raptor_core.documents.base import MAX_METADATA_CHARS, Document, flat_metadata_entries
from raptor_core.identity import embedding_key, leaf_content_key, leaf_id, normalize_text
from raptor_core.nodes import Node
from raptor_core.tree.components import Components
from raptor_formats.base import MetadataValue


def make_leaves(
    tree: str, documents: Sequence[Document], components: Components
) -> tuple[Node, ...]:
    """Make the leaves of a tree in document order, without chunks that people set aside."""
    leaves: list[Node] = []
    for document in sorted(documents, key=lambda document: document.id):
        leaves += _document_leaves(tree, document, components.chunk_document(document), components)
    excludes = components.curation.excludes_chunk
    return tuple(n for n in leaves if not excludes(n.documents[0], n.content_key))


def are_all_chunks_set_aside(
    document: Document, components: Components, curation: Curation
) -> bool:
    """Return whether people set aside each chunk of a document, so that nothing of it is left."""
    leaves = _document_leaves("", document, components.chunk_document(document), components)
    excludes = curation.excludes_chunk
    return bool(leaves) and all(excludes(document.id, leaf.content_key) for leaf in leaves)


def _add_header_tokens(
    parts: Sequence[Parts], contexts: Sequence[str], components: Components
) -> list[Parts]:
    """Add the tokens of column names, which are shown above the text, to the first parts."""
    tables = [context.partition("\n")[2] for context in contexts]
    counts = components.counter.count(tables)
    return [
        ((part[0][0], part[0][1] + count), *part[1:])
        for part, count in zip(parts, counts, strict=True)
    ]


def _without_long_texts(metadata: Mapping[str, MetadataValue]) -> dict[str, MetadataValue]:
    """Return metadata without texts longer than ``MAX_METADATA_CHARS``."""
    texts = ((key, item) for key, item in flat_metadata_entries(metadata) if isinstance(item, str))
    long = {key for key, text in texts if len(text) > MAX_METADATA_CHARS}
    return {key: value for key, value in metadata.items() if key not in long}


def _document_leaves(
    tree: str, document: Document, chunks: Sequence[Chunk], components: Components
) -> list[Node]:
    occurrences: Counter[str] = Counter()
    chunking = components.chunker.fingerprint
    embedder = components.embedder.fingerprint
    metadata = _without_long_texts({"title": document.title, **document.metadata})
    paths = ((document.title, chunk.section) for chunk in chunks)
    max_tokens = components.settings.chunking.max_context_tokens
    contexts = context_lines(paths, components.counter, max_tokens)
    tables = [chunk.table_header for chunk in chunks]
    contexts = add_table_headers(contexts, tables, components.counter, max_tokens)
    parts = _add_header_tokens(
        paragraph_parts(document, chunks, components.counter), contexts, components
    )
    leaves = []
    for position, (chunk, context) in enumerate(zip(chunks, contexts, strict=True)):
        normal = normalize_text(chunk.text)
        first, last = document.page_at(chunk.start), document.page_at(chunk.end - 1)
        pages = {"page": first, "last_page": last} if first else {}
        content_key = leaf_content_key(chunk.text, occurrences[normal], chunking)
        occurrences[normal] += 1
        text = f"{context}\n{chunk.text}" if context else chunk.text
        leaves.append(
            Node(
                id=leaf_id(tree, document.id, content_key),
                tree=tree,
                layer=0,
                content_key=content_key,
                text=chunk.text,
                n_tokens=chunk.n_tokens,
                position=position,
                documents=(document.id,),
                children=(),
                fingerprint=chunking,
                embedding_key=embedding_key(text, embedder),
                start=chunk.start,
                end=chunk.end,
                section=chunk.section,
                source=document.source,
                context=context,
                metadata={**metadata, **pages, **_without_long_texts(chunk.metadata)},
                paragraphs=parts[position],
            )
        )
    return leaves
