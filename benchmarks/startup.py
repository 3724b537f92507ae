"""Start-up: CPU seconds (user and system, of a whole process) of the commands that do little.

Every command is a process of its own on a warm file cache, and the commands take turns, so that a
busy machine slows all of them alike; medians, and their ratio to a baseline of the same rounds,
`python -c 'import dagster'`. With `--other` the `raptor` of another checkout takes its turns, too.

    python benchmarks/startup.py HOME --tree TREE
    python benchmarks/startup.py HOME --commands "status --json" plan build --other ../old/raptor
    python benchmarks/startup.py HOME --edit docs/pumps.md
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

BASELINE = "import dagster"


def main() -> None:
    arguments = _arguments()
    home = ["--home", str(arguments.home)]
    programs = {"": Path(sys.executable).with_name("raptor"), "other: ": arguments.other}
    commands = {BASELINE: [sys.executable, "-c", "import dagster"]} | {
        f"{which}{command}": [str(program), *command.split(), *home]
        for command in _commands(arguments)
        for which, program in programs.items()
        if program is not None
    }
    taken = defaultdict(list)
    for number in range(arguments.rounds + 1):
        for name, command in commands.items():
            if arguments.edit and name != BASELINE:
                _edit(arguments.edit)
            seconds = cpu_seconds(command)
            if number:  # the first round warms the file cache
                taken[name].append(seconds)
    base = statistics.median(taken[BASELINE])
    print("| command | CPU seconds | lowest to highest | ratio to the baseline |")
    print("| --- | --- | --- | --- |")
    for name, found in taken.items():
        middle = statistics.median(found)
        spread = f"{min(found):.2f} to {max(found):.2f}"
        print(f"| {name} | {middle:.2f} | {spread} | {middle / base:.2f} |")


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
    if arguments.edit:
        return ["plan", "build"]
    tree = [f"tree {arguments.tree}"] if arguments.tree else []
    return ["status", "status --json", "plan", "build", *tree]


def _edit(path: Path) -> None:
    """One more word in the middle of a document."""
    text = path.read_text(encoding="utf-8")
    at = text.index(" ", len(text) // 2)
    path.write_text(f"{text[:at]} again{text[at:]}", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("home", type=Path, help="a home whose trees are built")
    parser.add_argument("--tree", help="a tree to print")
    parser.add_argument("--commands", nargs="+", help="in place of the usual ones")
    parser.add_argument("--edit", type=Path, help="a document to change before each command")
    parser.add_argument("--other", type=Path, help="the raptor command of another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
