"""Start-up: CPU seconds (user and system, of a whole process) of the commands that do little.

Every command is a process of its own on a warm file cache, and the commands take turns, so that a
busy machine slows all of them alike; medians, and their ratio to a baseline of the same rounds,
`python -c 'import dagster'`. With `--other` the `raptor` of another checkout takes its turns, too.

    python benchmarks/startup.py HOME --tree TREE
    python benchmarks/startup.py HOME --commands "status --json" plan build --other ../old/raptor
    python benchmarks/startup.py HOME --edit docs/pumps.md
    python benchmarks/startup.py --trees 1400
    python benchmarks/startup.py --trees 1169 --pages /usr/share/doc/postgresql-doc-15/html

`--edit` adds a plan and a build after one more word in a document. `--trees` makes the home first,
of so many small documents, or of the first HTML pages of a folder, one tree each. It is gone
afterwards.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from measuring import make_documents, print_head, print_row

BASELINE = "import dagster"
EDITED = " after one edit"
RAPTOR = Path(sys.executable).with_name("raptor")


def main() -> None:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="startup-") as folder:
        if arguments.trees:
            make_home(Path(folder), arguments)
        measure(arguments)


def make_home(root: Path, arguments: argparse.Namespace) -> None:
    """Build a home of documents and take the one in their middle for the edit."""
    source, home = root / "source", root / "home"
    source.mkdir()
    if arguments.pages:
        for path in sorted(arguments.pages.glob("*.html"))[: arguments.trees]:
            shutil.copy(path, source)
    else:
        for document in make_documents(arguments.trees):
            (source / document.id).write_text(document.text, encoding="utf-8")
    cpu_seconds([str(RAPTOR), "build", str(source), "--home", str(home)])
    arguments.home = home
    arguments.edit = sorted(source.iterdir())[arguments.trees // 2]


def measure(arguments: argparse.Namespace) -> None:
    """Let the commands take turns, and print the table."""
    home = ["--home", str(arguments.home)]
    programs = {"": RAPTOR, "other: ": arguments.other}
    commands = {BASELINE: [sys.executable, "-c", "import dagster"]} | {
        f"{which}{command}": [str(program), *command.removesuffix(EDITED).split(), *home]
        for command in _commands(arguments)
        for which, program in programs.items()
        if program is not None
    }
    taken = defaultdict(list)
    for number in range(arguments.rounds + 1):
        for name, command in commands.items():
            if name.endswith(EDITED):
                _edit(arguments.edit)
            seconds = cpu_seconds(command)
            if number:  # the first round warms the file cache
                taken[name].append(seconds)
    base = statistics.median(taken[BASELINE])
    print_head("command", "CPU seconds", "lowest to highest", "ratio to the baseline")
    for name, found in taken.items():
        middle = statistics.median(found)
        spread = f"{min(found):.2f} to {max(found):.2f}"
        print_row(name, f"{middle:.2f}", spread, f"{middle / base:.2f}")


def cpu_seconds(command: list[str]) -> float:
    """What one process took, with its children.

    Raises:
        SystemExit: it failed.
    """
    silent = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, silent, 1)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    os.close(silent)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def _commands(arguments: argparse.Namespace) -> list[str]:
    if arguments.commands:
        return list(arguments.commands)
    tree = [f"tree {arguments.tree}"] if arguments.tree else []
    # The build comes last: it leaves nothing to do for the next round.
    edited = [f"plan{EDITED}", f"build{EDITED}"] if arguments.edit else []
    return ["status", "status --json", "plan", "build", *tree, *edited]


def _edit(path: Path) -> None:
    """One more word in the middle of a document; not in a tag of HTML."""
    text = path.read_text(encoding="utf-8")
    at = text.index(" the ", len(text) // 2)
    path.write_text(f"{text[:at]} again{text[at:]}", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    home = parser.add_mutually_exclusive_group(required=True)
    home.add_argument("home", type=Path, nargs="?", help="a home whose trees are built")
    home.add_argument("--trees", type=int, help="make one of so many documents, and edit one")
    parser.add_argument("--pages", type=Path, help="folder of HTML pages for --trees")
    parser.add_argument("--tree", help="a tree to print")
    parser.add_argument("--commands", nargs="+", help="in place of the usual ones")
    parser.add_argument("--edit", type=Path, help="a document to change before a plan and a build")
    parser.add_argument("--other", type=Path, help="the raptor command of another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
