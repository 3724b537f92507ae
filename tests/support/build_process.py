"""A build in a process of its own, for tests that kill it or fill its disk.

Called as ``python build_process.py ACTION ROOT [ARGUMENT]``; ``tests`` must be on the path. The
embedder is the small one of the tests; everything else is what the settings say. ``Starter`` starts
many of them, which takes most of the time of small builds, from one that has imported all.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from importlib import import_module
from itertools import count
from pathlib import Path

import dagster as dg
from support.command import embedder_made_by
from support.hashing import HashingEmbedder
from support.quick_dagster import open_anew
from support.servers import do_not_wait
from support.stores import PROCESS_PATH
from support.summarizers import ScriptedSummarizer
from support.word_judge import WordJudge
from support.workshop import Workshop, settings_text

from raptor_assets.chain import run, run_log
from raptor_assets.cli import main
from raptor_assets.home.folder import Home
from raptor_assets.local.dagster import open_instance_and_clean_up
from raptor_core.identity import digest
from raptor_core.store import publishing
from raptor_core.tree import summarize
from raptor_core.tree.components import Components

IMPORTED_BY_BUILDS = ("pyarrow.parquet", "scipy.sparse", "scipy.linalg", "raptor_core.store.folder")


def die(*_args, **_kwargs):
    os.kill(os.getpid(), signal.SIGKILL)


def open_records_at_once(root, n_processes):
    """Open the records of a home in several processes; the exit code is how many could not."""
    dg.DagsterInstance.from_config = open_anew
    with open_instance_and_clean_up(Home(root / "another")):
        pass  # all is imported
    wait, go = os.pipe()
    children = []
    for _ in range(int(n_processes)):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(wait, 1)
            with open_instance_and_clean_up(Home(root / "home")) as instance:
                os._exit(len(instance.get_runs()))
        children.append(child)
    os.close(go)
    sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))


def build_as_the_database_dies(root, server, at):
    """`raptor build` with PostgreSQL killed, by its process id, in a call to embed."""
    do_not_wait()
    embed = LoggedEmbedder.embed
    calls = count(1)

    def dying(self, texts):
        vectors = embed(self, texts)
        if next(calls) == int(at):
            os.kill(int(server), signal.SIGKILL)
        return vectors

    LoggedEmbedder.embed = dying
    with embedder_made_by(lambda *_: LoggedEmbedder(root / "finished.log")):
        main(["build", "--home", str(root / "home")])


def build_logged(root, point):
    """Build with a summarizer and an embedder that write what they finished to ``finished.log``.

    ``point`` says where to die: "never"; "before ASSET" or "after ASSET"; "committed", after the
    first commit, made one of a single tree; or the number of the last summary, all of
    which are written down at once.
    """
    when, _, asset = point.partition(" ")
    summarizer = LoggedSummarizer(root / "finished.log")
    if when == "committed":
        die_after_a_commit()
    elif when in ("before", "after"):
        place, name = {
            "before": (run.ChainRun, "_run_or_isolate_failures"),
            "after": (run_log.RunLog, "report_step"),
        }[when]
        method = getattr(place, name)

        def dying(self, step, *given):
            if getattr(step, "asset", step).name == asset:
                die()
            return method(self, step, *given)

        setattr(place, name, dying)
    elif when != "never":
        summarizer.last, summarize.FLUSH_SECONDS = int(when), -1.0
    workshop = Workshop(root, components={"summarizer": summarizer})
    workshop.components = Components(
        workshop.settings,
        embedder=LoggedEmbedder(root / "finished.log"),
        summarizer=summarizer,
        judge=WordJudge(),
    )
    report = workshop.build()
    assert report.succeeded, report.failed


def die_after_a_commit():
    publishing.COMMIT_POINTS = 1
    commit = publishing.PublicationBatch._commit

    def commit_and_die(self):
        is_publication = bool(self._updates)
        commit(self)
        if is_publication:
            die()

    publishing.PublicationBatch._commit = commit_and_die


class LoggedEmbedder(HashingEmbedder):
    """Writes every text that it embedded."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def _encode(self, texts):
        vectors = super()._encode(texts)
        log(self.path, [f"embedded {digest(text)}" for text in texts])
        return vectors


class LoggedSummarizer(ScriptedSummarizer):
    """Writes every summary that it made; the process dies when another than the last is due."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.last = None

    def summarize(self, requests):
        for answer in super().summarize(requests):
            if self.n_made - 1 == self.last:
                die()
            log(self.path, [f"summarized {answer.key}"])
            yield answer


def log(path, lines):
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def build_on_full_disk(root, n_bytes):
    """`raptor build` while no file may grow over ``n_bytes``, as on a full disk."""
    home = Home(root / ".raptor")
    home.create_folders_and_instance()
    home.settings_path.write_text(settings_text(root / "docs"))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(n_bytes), int(n_bytes)))
    with embedder_made_by(lambda *_: HashingEmbedder()):
        main(["build", "--home", str(home.path)])


def fork_for_each_line(root):
    """For each line of JSON, an action and its arguments: carry it out in a fork; say how it ended.

    This process has imported all and begun nothing, so its forks know nothing of each other. It has
    opened records once, which takes longer than a small build, and closed them.
    """
    for name in IMPORTED_BY_BUILDS:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        with workshop.instance():
            workshop.definitions().resolve_all_job_defs()
    for line in sys.stdin:
        name, *given = json.loads(line)
        child = os.fork()
        if child == 0:
            with (root / "printed").open("w") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            code = 1
            try:
                globals()[name](root, *given)
                code = 0
            finally:
                if code:
                    traceback.print_exc()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


class Starter:
    """Carries out actions on a folder, each in a process of its own; a context manager."""

    def __init__(self, root):
        self.root = root

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__, "fork_for_each_line", str(self.root)],
            env={**os.environ, "PYTHONPATH": PROCESS_PATH},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def run(self, *action):
        """The exit code, below zero for a signal, and what was printed."""
        self._process.stdin.write(json.dumps(action) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return code, (self.root / "printed").read_text()

    def __exit__(self, *_exc):
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    globals()[action](Path(place), *rest)
