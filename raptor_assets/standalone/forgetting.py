"""Proof that a deleted document is forgotten: a search of a home's files for its id and texts.

``file_texts`` reads the files. A summary that says the same in other words is not recognised.
"""

import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from raptor_assets.project.home import Home
from raptor_assets.standalone.file_texts import file_texts, row_text
from raptor_assets.standalone.instance import open_instance
from raptor_core.disk import replace_file
from raptor_core.errors import RecordsError, SettingsError, SourceError
from raptor_core.home.folder import HomeFolder, hint
from raptor_core.home.published import corpus_tree_folder, has_corpus_tree
from raptor_core.identity import percent_encode
from raptor_core.layout import HOME_RECORDS, HOME_SETTINGS
from raptor_core.nodes import Node
from raptor_core.settings import Settings
from raptor_core.store import open_store, stored_identity
from raptor_core.store.base import Where
from raptor_core.store.store import VectorStore

PASSAGE_WORDS = 5
"""Words in a row that count as a passage of the document, unless a remaining document has them."""

_ERASE = "verify --erase --gone DOCUMENT --text TEXT"
_TRUNCATE = (
    "run `truncate raptor.kept, raptor.wanted` in the database while nothing builds: they hold "
    "unfinished work of all corpora"
)
_VACUUM = (
    "files of PostgreSQL keep replaced rows: run `vacuum full event_logs, asset_check_executions, "
    "asset_keys`; its write-ahead log and backups are not read"
)
_SELECT = "select id from event_logs where event like '%PASSAGE%'"
_ESCAPES = re.compile(r"\\+u([0-9a-fA-F]{4})")
_BREAKS = re.compile(r"\\+[nrt]")
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class Remnant:
    """Place with something of a document; ``kind`` is "text" or "id"."""

    path: str
    part: str
    kind: str
    remedy: str


@dataclass(slots=True)
class Forgetting:
    """Result of a search: places with the document's text or id, limits, and digests of files.

    ``names`` are places in Dagster's history with the id alone, which names a dropped partition.
    """

    document_sha256: str
    n_passages: int
    remnants: list[Remnant] = field(default_factory=list)
    names: list[Remnant] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def add(self, place: Remnant, *, is_history: bool) -> None:
        """Add a place with a trace, once."""
        places = self.names if is_history and place.kind == "id" else self.remnants
        if place.kind and place not in places:
            places.append(place)


class Traces:
    """Words that tell a deleted document from all that remain.

    Args:
        document: id of the document.
        text: its text, "" where it is lost.
        remaining: ids and texts of the published documents.
    """

    def __init__(self, document: str, text: str, remaining: Iterable[tuple[str, str]]) -> None:
        known = list(remaining)
        self._words = min(PASSAGE_WORDS, len(_words(text))) or PASSAGE_WORDS
        self.passages = set(_passages(text, self._words))
        for _, kept in known:
            self.passages.difference_update(_passages(kept, self._words))
        names = {document, percent_encode(document), document.replace("/", "%2F")}
        self._longer = tuple({name for name, _ in known if name.endswith(f"/{document}")})
        spelled = "|".join(map(re.escape, sorted(names)))
        self._id = re.compile(rf"(?<![\w.-])(?:{spelled})(?!\w)")

    def find(self, text: str) -> str:
        """Return "text" or "id" for a part of the document within a text, else ""."""
        plain = _plain(text)
        if self.passages and not self.passages.isdisjoint(_passages(plain, self._words)):
            return "text"
        for hit in self._id.finditer(plain):
            if not plain[: hit.end()].endswith(self._longer or ("\0",)):
                return "id"
        return ""


def _plain(text: str) -> str:
    """Return a text without the escapes of JSON and HTML."""
    decoded = _ESCAPES.sub(lambda hit: chr(int(hit[1], 16)), text)
    return html.unescape(_BREAKS.sub(" ", decoded).replace("\\/", "/"))


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())


def _passages(text: str, n_words: int) -> Iterator[str]:
    words = _words(text)
    return map(" ".join, zip(*(words[start:] for start in range(n_words)), strict=False))


def verify_forgotten(
    home: Home,
    settings: Settings,
    document: str,
    text: str,
    also: Sequence[Path] = (),
    *,
    erased: bool = False,
) -> Forgetting:
    """Search a home, and further files and folders, for what remains of a deleted document.

    ``erased`` first erases deleted points, and passages of the text in Dagster's events.

    Raises:
        SourceError: the document is still published, or a path of ``also`` does not exist.
    """
    published = _published_nodes(home, settings)
    chunks: dict[str, list[str]] = {}  # passages of a document may cross the end of a chunk
    for node in sorted(published, key=lambda node: (node.documents, node.order)):
        if node.is_leaf and not node.stands_for:
            chunks.setdefault(node.documents[0], []).append(node.text)
    remaining = [(name, " ".join(texts)) for name, texts in chunks.items()]
    if any(document in node.documents for node in published):
        raise SourceError(
            f"{document!r} is still published in {home.path}: delete it in the source and run "
            f"`{hint('build', home.path)}`, or `{hint('drop', home.path)}` its tree, and repeat"
        )
    traces = Traces(document, text, remaining)
    result = Forgetting(hashlib.sha256(document.encode()).hexdigest(), len(traces.passages))
    result.limits += _limits(settings, text, result.n_passages)
    if erased:
        for store in _stores(home, settings):
            store.optimize(erase=True)
    for node in published:
        if kind := traces.find(node.text):
            result.remnants.append(Remnant(f"store: {node.tree}", node.id, kind, _rebuild(home)))
    records = _search_instance(home, traces, result, erased=erased)
    for path in _files((home.path, *records, *also)):
        data = path.read_bytes()
        result.files[str(path)] = hashlib.sha256(data).hexdigest()
        is_history = any(path.is_relative_to(folder) for folder in (home.dagster, *records))
        for part, content in (("name", str(path)), *file_texts(path, data, result.limits)):
            remedy = _remedy(home, home.dagster if is_history else path)
            place = Remnant(str(path), part, traces.find(content), remedy)
            result.add(place, is_history=is_history)
    return result


def _search_instance(home: Home, traces: Traces, result: Forgetting, *, erased: bool) -> list[Path]:
    """Search the database of Dagster's instance, and return folders of its files elsewhere."""
    is_own = home.has_default_instance() and not home.names().corpus
    if is_own and not (erased and (home.dagster / "history").exists()):
        return []
    from raptor_assets.project.event_scrub import database_texts, erase_texts
    from raptor_assets.project.records import is_postgres

    try:
        with open_instance(home) as instance:
            if erased:
                erase_texts(instance, lambda text: traces.find(text) == "text")
            root, name = Path(instance.root_directory), type(instance.event_log_storage).__name__
            for table, values in database_texts(instance) if is_postgres(instance) else ():
                is_cache = table.startswith("raptor.")
                remedy = _TRUNCATE if is_cache else f"run `{hint(_ERASE, home.path)}`"
                place = Remnant("database", table, traces.find(row_text(values)), remedy)
                result.add(place, is_history=not is_cache)
            if is_postgres(instance):
                result.limits.append(_VACUUM)
            elif "Sqlite" not in name:
                result.limits.append(f"tables of {name} are not searched: run `{_SELECT}` there")
    except (RecordsError, SettingsError) as error:
        result.limits.append(f"history and cached answers of Dagster are not searched: {error}")
        return []
    folders = [] if root.is_relative_to(home.path) else ["history", "schedules", "storage"]
    return [root / folder for folder in folders if (root / folder).is_dir()]


def _published_nodes(home: Home, settings: Settings) -> list[Node]:
    """Return the nodes of all trees, those of the corpus tree last."""
    return [node for store in _stores(home, settings) for node in store.nodes(Where())]


def _stores(home: Home, settings: Settings) -> Iterator[VectorStore]:
    """Yield the open store of the trees, then that of the corpus tree, where they exist."""
    places: list[tuple[HomeFolder, Settings]] = [(home, settings)]
    if has_corpus_tree(home, settings):
        places.append(corpus_tree_folder(home, settings))
    for place, chosen in places:
        if stored_identity(chosen.store, place.qdrant) is not None:
            with open_store(chosen.store, place.qdrant) as store:
                yield store


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.exists():
            raise SourceError(f"{path} does not exist; correct the path, or leave it out")
        for file in sorted(path.rglob("*")) if path.is_dir() else (path,):
            if file.is_file():
                yield file


def _limits(settings: Settings, text: str, n_passages: int) -> list[str]:
    limits = ["a text that says the same in other words is not recognised"]
    if not text:
        limits.append("without --text only the id is looked for: texts cannot be recognised")
    elif not n_passages:
        limits.append("a remaining document has every passage of the text as well")
    if settings.store.kind == "server":
        limits.append("files of a server are not read: it erases deleted points when it vacuums")
    if settings.tables.url:
        limits.append("tables outside the home are not read: copy them and name them by --also")
    return limits


def _rebuild(home: Home) -> str:
    return f"run `{hint('build --force', home.path)}`"


def _remedy(home: Home, path: Path) -> str:
    """Return how to remove remnants from a file."""
    if not path.is_relative_to(home.path):
        return "delete the file, or write the export or report again"
    folder = path.relative_to(home.path).parts[0]
    remedies = {
        "qdrant": f"run `{hint(_ERASE, home.path)}`",
        "answers": "delete this folder: it holds unfinished work",
        HOME_RECORDS: f"run `{hint(_ERASE, home.path)}`; delete files of captured output",
        HOME_SETTINGS: "take it out of the settings",
        "tables": f"delete the file, and {_rebuild(home)}",
        "corpus_tree": _rebuild(home),
    }
    return remedies.get(folder, "delete the file: it is written again where it is needed")


def write_result(path: Path, values: dict[str, object]) -> None:
    """Write the result as JSON, which holds neither the id nor a text of the document."""
    replace_file(path, json.dumps(values, indent=1, ensure_ascii=False).encode())
