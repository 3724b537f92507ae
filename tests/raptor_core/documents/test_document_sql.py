"""Rows of a database: what is read, how changes are found, and that no password is shown."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from raptor_core.documents import load_documents, scan_source
from raptor_core.documents.sources.sql import SqlSource
from raptor_core.errors import SettingsError, SourceError
from raptor_core.settings import DatabaseTable, SourceSettings, load_settings

OLD = "2024-05-01 10:00:00"
NOW = datetime(2025, 1, 1, tzinfo=UTC).timestamp()
SCHEMA = "CREATE TABLE wiki (id, text, title, updated_at, stars REAL)"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "wiki.db"
    run(path, SCHEMA)
    for number in range(5):
        insert(path, number)
    return path


@pytest.fixture
def rows_read(monkeypatch):
    """Raw ids that whole rows were asked for."""
    names, original = [], SqlSource._read_rows

    def counted(self, ids):
        names.extend(ids)
        return original(self, ids)

    monkeypatch.setattr(SqlSource, "_read_rows", counted)
    return names


def run(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def insert(path, number, updated=OLD):
    values = (number, f"Text {number}.", f"Title {number}", updated, number / 2)
    run(path, "INSERT INTO wiki VALUES (?, ?, ?, ?, ?)", *values)


def table(path, **values):
    given = {"url": f"sqlite:///{path}", "table": "wiki", **values}
    if "query" in given:
        del given["table"]
    return SourceSettings(tables=(DatabaseTable(**given),))


def at(moment):
    return lambda: moment


def ids(scan):
    return [entry.id for entry in scan.inventory.documents]


def test_a_row_is_a_document(database):
    document = load_documents(settings=table(database)).documents[3]
    assert (document.id, document.source, document.title) == ("wiki/3", "wiki", "Title 3")
    assert document.text == "Text 3."
    assert document.metadata == {"folder": "wiki", "format": "sql", "stars": 1.5}


def test_a_query_and_other_columns(database):
    query = """
        SELECT id AS number, text || ' 12:30, :x and 100%' AS body, updated_at::text AS at
        FROM wiki WHERE id > 2;
    """.replace("::text", "")
    source = table(
        database,
        name="late",
        query=query,
        id_field="number",
        text_field="body",
        updated_field="at",
    )
    documents = load_documents(settings=source).documents
    assert [document.id for document in documents] == ["late/3", "late/4"]
    assert documents[0].text == "Text 3. 12:30, :x and 100%"


def test_only_changed_rows_are_read(database, rows_read):
    first = scan_source(table(database), clock=at(NOW))
    rows_read.clear()
    run(database, "UPDATE wiki SET text = 'New.', updated_at = '2024-06-01' WHERE id = 2")
    run(database, "DELETE FROM wiki WHERE id = 3")
    insert(database, 9)
    second = scan_source(table(database), first.catalog, clock=at(NOW + 90))
    assert sorted(rows_read) == [2, 9]
    assert ids(second) == ["wiki/0", "wiki/1", "wiki/2", "wiki/4", "wiki/9"]
    changed = {e.id for e in set(second.inventory.documents) - set(first.inventory.documents)}
    assert changed == {"wiki/2", "wiki/9"}


def declared(scan):
    """Readers of each document, of one that is not read as well."""
    inventory = scan.inventory
    return [inventory.current_readers(f"wiki/{n}", "wiki", ("*",)) for n in range(5)]


@pytest.mark.parametrize("column", ["readers", "metadata"])
def test_readers_are_read_at_each_look_though_the_row_did_not_change(database, rows_read, column):
    """A join, or a view over rights, changes them without a word in the column of changes."""
    run(database, "CREATE TABLE rights (id, names)")
    query = f"SELECT wiki.*, names AS {column} FROM wiki LEFT JOIN rights ON rights.id = wiki.id;\n"
    source = table(database, name="wiki", query=query)
    forms = {"readers": "{}", "metadata": '{{"readers": {}}}'}

    def grant(number, names):
        run(database, "DELETE FROM rights WHERE id = ?", number)
        run(database, "INSERT INTO rights VALUES (?, ?)", number, forms[column].format(names))

    for number, names in enumerate(['["ana", "ben"]', '["ana"]', "[]", '"*']):
        grant(number, names)
    first = scan_source(source, clock=at(NOW))
    assert declared(first) == [("ana", "ben"), ("ana",), (), (), ()]
    rows_read.clear()
    grant(0, '["ben"]')
    grant(1, '{"deny": "ana"}')
    second = scan_source(source, first.catalog, clock=at(NOW + 90))
    assert declared(second) == [("ben",), (), (), (), ()]
    assert sorted(rows_read) == [0, 1]
    versions = [{e.id: e.version for e in s.inventory.documents} for s in (first, second)]
    assert versions[1].items() <= versions[0].items()


def test_of_rows_with_one_id_the_readers_of_all_count(database, rows_read):
    """As of a join that gives a row for each name."""
    run(database, "CREATE TABLE rights (id, name)")
    for number, name in [(0, "ana"), (0, "ben"), (1, "ana"), ("1", "ana"), (2, "*"), (2, "[]")]:
        run(database, "INSERT INTO rights VALUES (?, ?)", number, name)
    query = "SELECT rights.id, text, name AS readers, updated_at FROM wiki "
    query += "JOIN rights ON wiki.id = CAST(rights.id AS INTEGER)"
    source = table(database, name="wiki", query=query)
    first = scan_source(source, clock=at(NOW))
    assert declared(first)[:3] == [(), ("ana",), ()]
    run(database, "UPDATE rights SET name = 'ana' WHERE name = 'ben'")
    rows_read.clear()
    assert declared(scan_source(source, first.catalog, clock=at(NOW + 90)))[:1] == [("ana",)]
    assert rows_read == [0]


def test_bad_rows_are_named(database):
    run(database, "INSERT INTO wiki VALUES (1, 'Again.', '', '', 0)")
    run(database, "INSERT INTO wiki VALUES (NULL, 'No id.', '', '', 0)")
    run(database, "INSERT INTO wiki VALUES (7, ' ', '', '', 0)")
    run(database, "INSERT INTO wiki VALUES (8, NULL, '', '', 0)")
    corpus = load_documents(settings=table(database))
    found = {item.name: (item.reason, item.is_empty) for item in corpus.skipped}
    assert len(corpus.documents) == 5
    assert "its id 'wiki/1' is taken, by another document" in found["wiki/1"][0]
    assert found["wiki:7"] == ("has no id: None", False)
    assert found["wiki/7"] == ("contains no text", True)
    assert "'text' is missing" in found["wiki/8"][0]
    assert found["wiki/8"][1]


class TestProblems:
    def answer(self, monkeypatch, url, **values):
        """What a failure says, with everything that a log would print of it."""
        import traceback

        monkeypatch.setenv("WIKI_URL", url)
        source = SourceSettings(tables=({"url_env": "WIKI_URL", "table": "wiki", **values},))
        with pytest.raises(SourceError) as caught:
            load_documents(settings=source)
        printed = "".join(traceback.format_exception(caught.value))
        assert "s3cret" not in printed
        assert "s3cret" not in repr(source)
        return str(caught.value)

    def test_a_server_that_is_not_there(self, monkeypatch):
        url = "postgresql+psycopg2://ada:s3cret%2Fpw@127.0.0.1:1/wiki?application_name=s3cret2"
        message = self.answer(monkeypatch, url)
        assert "OperationalError" in message
        assert "'wiki'" in message

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql:/ada:s3cret@host/wiki",
            "postgresql://ada:s3cret/x@host:1/wiki",
            "nope://ada:s3cret@host/wiki",
        ],
    )
    def test_a_malformed_url_is_an_error_that_names_the_table(self, monkeypatch, url):
        assert "'wiki'" in self.answer(monkeypatch, url)

    def test_a_driver_that_repeats_the_password(self, monkeypatch):
        import sqlalchemy as sa

        def refuse(url, **_options):
            said = f"no: {url.password} {url.query['key']} at {url.host}:{url.port}"
            raise sa.exc.OperationalError("connect", {}, Exception(said))

        monkeypatch.setattr("sqlalchemy.create_engine", refuse)
        url = "postgresql://ada:s3cret@10.0.0.1:5432/wiki?connect_timeout=10&keepalives=1&key=other"
        assert "no: *** *** at 10.0.0.1:5432" in self.answer(monkeypatch, url)

    def test_a_variable_that_is_not_set(self, monkeypatch):
        assert "WIKI_URL is not set" in self.answer(monkeypatch, "")

    @pytest.mark.parametrize(
        "values", [{"table": "nosuch"}, {"id_field": "nosuch"}, {"updated_field": "nosuch"}]
    )
    def test_a_table_or_column_that_is_not_there(self, database, monkeypatch, values):
        assert "nosuch" in self.answer(monkeypatch, f"sqlite:///{database}", **values)

    @pytest.mark.parametrize(
        ("toml", "answer"),
        [
            ('table = "t"', "give either url or url_env"),
            ('url = "a://ada:s3cret@b"\nurl_env = "X"\ntable = "t"', "give either url or url_env"),
            ('url = "a://ada:s3cret@b"\nquery = "SELECT 1"', "give a name"),
            ('url = ["a://ada:s3cret@b"]\ntable = "t"', "valid string"),
            ('url_env = "X"\ntable = "t"\nupdated = "u"', "did you mean updated_field?"),
        ],
    )
    def test_wrong_settings_say_what_to_give(self, tmp_path, toml, answer):
        import traceback

        (tmp_path / "raptor.toml").write_text(f"[[source.tables]]\n{toml}\n")
        with pytest.raises(SettingsError) as caught:
            load_settings(tmp_path / "raptor.toml", {})
        assert answer in str(caught.value)
        assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_two_columns_of_readers_are_refused(database):
    query = "SELECT *, 'ana' AS readers, 'ben' AS Readers FROM wiki"
    with pytest.raises(SourceError, match="several columns like 'readers'"):
        load_documents(settings=table(database, name="wiki", query=query))
