"""Plant each fault of ``faults.toml`` in a copy of the product, and run the tests that must fail.

    python tests/power/run.py              # all faults, two at a time
    python tests/power/run.py lost_layer   # faults whose names begin so

A fault survives if its tests pass. Then the suite no longer guards what the fault breaks: write the
test that does. A fault whose text is not found is out of date: write it anew for the present code.
Exit code 1 in both cases.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[2]
COPIED = (
    "raptor_formats",
    "raptor_core",
    "raptor_assets",
    "raptor_lab",
    "dagster_project",
    "tests",
    "examples",
)
N_WORKERS = 2
SECONDS = 300  # limit of one fault's tests
FAILED = 1  # exit code of pytest if a test failed


@dataclass(frozen=True)
class Fault:
    """Change of one place of the product; ``tests`` are pytest's arguments."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]


def read_faults(prefixes: list[str]) -> list[Fault]:
    """Return the faults, or those whose names begin with one of the prefixes."""
    values = tomllib.loads((Path(__file__).parent / "faults.toml").read_text(encoding="utf-8"))
    faults = [Fault(name, **fields) for name, fields in values.items()]
    return [f for f in faults if not prefixes or f.name.startswith(tuple(prefixes))]


def copy_product(folder: Path) -> Path:
    """Copy what the tests need into a folder, and return it."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "ARCHITECTURE.md"):
        shutil.copy(ROOT / name, folder)
    return folder


def find(fault: Fault, product: Path) -> str:
    """Plant a fault, run its tests, take it out again, and return what is wrong, "" for nothing."""
    path = product / fault.file
    sound = path.read_text(encoding="utf-8")
    if sound.count(fault.old) != 1:
        return f"its text stands {sound.count(fault.old)} times in {fault.file}, expected once"
    path.write_text(sound.replace(fault.old, fault.new), encoding="utf-8")
    try:
        code, output = run_tests(fault.tests, product)
    finally:
        path.write_text(sound, encoding="utf-8")
    if code == FAILED:
        return ""
    return "survived" if code == 0 else f"its tests did not run (exit code {code}): {output[-600:]}"


def run_tests(tests: list[str], product: Path) -> tuple[int, str]:
    """Run tests of a copy up to the first failure; return pytest's exit code and its output."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    path = os.pathsep.join([str(product), str(product / "tests")])
    environment = {**os.environ, "PYTHONPATH": path}
    try:
        done = subprocess.run(
            command,
            cwd=product,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED, "the tests did not end"  # a fault that hangs is noticed, too
    return done.returncode, done.stdout + done.stderr


def main() -> None:
    """Find all faults, and say which survive."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("prefixes", nargs="*", help="Beginnings of names; by default all faults.")
    faults = read_faults(parser.parse_args().prefixes)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for number in range(N_WORKERS):
            copies.put(copy_product(Path(folder, str(number))))

        def work(fault: Fault) -> str:
            product, begun = copies.get(), time.monotonic()
            try:
                wrong = find(fault, product)
            finally:
                copies.put(product)
            seconds = time.monotonic() - begun
            print(f"{fault.name:40} {wrong or 'found'} ({seconds:.0f} s)", flush=True)
            return wrong

        with ThreadPoolExecutor(N_WORKERS) as pool:
            results = list(pool.map(work, faults))
    n_found = results.count("")
    seconds = time.monotonic() - started
    print(f"{n_found} of {len(faults)} planted faults were found in {seconds:.0f} s")
    sys.exit(n_found < len(faults))


if __name__ == "__main__":
    main()
