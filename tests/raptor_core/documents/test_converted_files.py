"""Files of other types are read by the commands of ``source.convert``, one process for each."""

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import wait_until

from raptor_core.documents import load_documents, read_scanned_documents, scan_source
from raptor_core.settings import SourceSettings

PAGE = "# Tide\n\nIt rises at *noon*.\n"
PYTHON = f'"{sys.executable}" -c'


def read(folder, name, command, data=PAGE, **given):
    (folder / name).write_text(data)
    (folder / "kept.md").write_text("Words that stay.")
    extension = name[name.rindex(".") :].lower()
    return load_documents(folder, settings=SourceSettings(convert={extension: command}, **given))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a.adoc", "cat"),
        ("A.RTF", "cat {}"),
        ("a.org", "sh -c 'cat | cat'"),
        ("a b.tex", f"{PYTHON} 'import sys; print(open(sys.argv[1]).read())' {{}}"),
        ("a.json", "cat"),
        ("a.html", "cat"),
        ("a.pdf", "cat"),
    ],
)
def test_a_file_is_read_as_the_markdown_that_its_command_writes(tmp_path, name, command):
    document, _ = read(tmp_path, name, command).documents
    assert (document.id, document.title) == (name, "Tide")
    assert [section.title for section in document.sections] == ["Tide"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("sh -c 'echo one >&2; echo two >&2; exit 3'", r"failed \(exit code 3\): two"),
        ("sh -c 'kill -9 $$'", r"failed \(exit code -9\)"),
        ("true", "wrote no text"),
        ("sh -c 'echo x; sleep 60'", r"took more than 0\.5 s to convert .* source\.parse_seconds"),
        ("sh -c 'sleep 60 & wait'", r"took more than 0\.5 s to convert"),
        ("head -c 2000000 /dev/zero", r"over the limit of 1 MB \(source\.max_file_mb\)"),
        ("head -c 100000 /dev/zero", "contains binary data"),
    ],
)
def test_a_command_that_fails_skips_its_file_alone(tmp_path, command, reason):
    corpus = read(tmp_path, "a.rtf", command, parse_seconds=0.5, max_file_mb=1)
    assert [document.id for document in corpus.documents] == ["kept.md"]
    (skipped,) = corpus.skipped
    assert re.search(reason, skipped.reason)
    assert (skipped.name, skipped.is_empty) == ("a.rtf", False)


@pytest.mark.parametrize(
    "command", ["sh -c 'cat; sleep 50 &'", "sh -c '(sleep 50; echo no) & cat'"]
)
def test_a_process_that_a_command_leaves_behind_does_not_hold_its_output(tmp_path, command):
    document, _ = read(tmp_path, "a.rtf", command, parse_seconds=30).documents
    assert document.text == PAGE


@pytest.mark.rare
@pytest.mark.slow
def test_a_command_and_what_it_started_end_when_a_person_interrupts_the_reading(tmp_path):
    (tmp_path / "a.rtf").write_text(PAGE)
    mark = tmp_path / "pids"
    script = f"echo $$ >> {mark}; sleep 60 & echo $! >> {mark}; wait"
    code = (
        "import sys; from raptor_core import load_documents; from raptor_core.settings import "
        "SourceSettings; load_documents(sys.argv[1], settings=SourceSettings("
        "convert={'.rtf': sys.argv[2]}))"
    )
    command = f"sh -c {shlex.quote(script)}"
    reader = subprocess.Popen([sys.executable, "-c", code, tmp_path / "a.rtf", command])
    try:
        wait_until(lambda: mark.exists() and len(mark.read_text().split()) == 2, [], [reader])
    finally:
        reader.send_signal(signal.SIGINT)
    reader.wait(30)
    started = [Path(f"/proc/{pid}/stat") for pid in mark.read_text().split()]
    wait_until(lambda: not any(map(is_alive, started)), [])


def is_alive(stat):
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("convert", "reason"),
    [
        ({"rtf": "cat"}, 'an extension such as ".rtf"'),
        ({".RTF": "cat"}, 'an extension such as ".rtf"'),
        ({".rtf": " "}, "is empty"),
        ({".rtf": "cat '"}, "is malformed"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_with_the_settings(convert, reason):
    with pytest.raises(ValueError, match=reason):
        SourceSettings(convert=convert)


def test_another_command_reads_its_files_anew_and_no_others(tmp_path):
    (tmp_path / "a.rtf").write_text(PAGE)
    (tmp_path / "b.md").write_text("Words.")

    def scan(command, catalog=None):
        convert = {".rtf": command}
        settings = SourceSettings(paths=(str(tmp_path),), convert=convert)
        return scan_source(settings, catalog, clock=lambda: time.time() + 60)

    first = scan("cat")
    assert scan("cat", first.catalog).n_read == 0
    second = scan("sed s/noon/six/", first.catalog)
    assert second.n_read == 1
    (document,) = read_scanned_documents(second, {"a.rtf"}).documents
    assert "six" in document.text
    changed = set(second.inventory.documents) - set(first.inventory.documents)
    assert [entry.id for entry in changed] == ["a.rtf"]
