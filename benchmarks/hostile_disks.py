"""Disks that are full or read-only, each a tmpfs of its own."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hostile_home import LeftOutError, Row, build, new_home, raptor, require, seen, write

DISK_MB = 400
FREE_KB = (100_000, 66_000, 40_000, 3_000, 400, 60, 8, 0)
"""Space before a rebuild of three trees."""

_MORE = "[store]\nlock_seconds = 2\n"


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """A disk, unmounted at the end."""
    disk = folder / "disk"
    disk.mkdir()
    made = _mount("-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(disk))
    if made.returncode:
        raise LeftOutError(f"no disk may be mounted here: {made.stderr.strip()}")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def full_disk(folder: Path, _arguments: argparse.Namespace) -> Iterator[Row]:
    """Rebuilds with less and less space."""
    with mounted(folder) as disk:
        docs = new_home(disk, _MORE, docs=folder / "docs")
        write(docs, 0)
        require(build(disk).code == 0, "the first build failed")
        outcomes = [_rebuilt(disk, docs, seed, free) for seed, free in enumerate(FREE_KB, 1)]
    yield Row(
        f"a disk of {DISK_MB} MB that is full before a rebuild of three trees",
        "an error that names the place and asks for space; readers see what they saw, or are "
        "told; after space was freed all is there, and the next build succeeds",
        "as promised",
        "; ".join(outcomes),
    )


def _rebuilt(disk: Path, docs: Path, seed: int, free_kb: int) -> str:
    before = seen(disk / "home")
    write(docs, seed)
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        stat = os.statvfs(disk)
        size = stat.f_bavail * stat.f_frsize - free_kb * 1024
        os.posix_fallocate(file.fileno(), 0, size)
    built = build(disk)
    status = raptor(disk / "home", "status", "--json")
    if built.code:
        require("space" in built.told.casefold(), f"{free_kb} KB free:", built.told)
    if status.code:
        require("space" in status.told.casefold(), f"reading at {free_kb} KB:", status.told)
    else:
        trees = {tree["tree"]: tree["build_id"] for tree in status.json["trees"]}
        require(built.code == 0 or trees == before, f"{free_kb} KB: other trees are published")
    ballast.unlink()
    if built.code:
        require(seen(disk / "home") == before, f"{free_kb} KB: trees were lost")
        again = build(disk)
        require(again.code == 0, f"{free_kb} KB, freed:", again.told)
    require(seen(disk / "home") != before, f"{free_kb} KB: nothing new is published")
    told = "built" if built.code == 0 else "refused"
    return f"{free_kb:,} KB free: {told}, {'readable' if status.code == 0 else 'not readable'}"


def read_only(folder: Path, _arguments: argparse.Namespace) -> Iterator[Row]:
    """The commands on a disk that was remounted."""
    with mounted(folder) as disk:
        docs = new_home(disk, _MORE, docs=folder / "docs")
        write(docs, 0)
        require(build(disk).code == 0, "the first build failed")
        before = seen(disk / "home")
        write(docs, 1)
        done = _mount("-o", "remount,ro", str(disk))
        if done.returncode:
            raise LeftOutError(f"the disk may not be remounted: {done.stderr.strip()}")
        told = {"build": build(disk)}
        for command in (["status"], ["tree", "d1.md"], ["query", "river"]):
            told[command[0]] = raptor(disk / "home", *command, "--json")
        _mount("-o", "remount,rw", str(disk))
        require(told["build"].code, "it built on a disk that cannot be written")
        for name, ended in told.items():
            require(ended.code not in (-6, -11), f"{name} ended with {ended.code}")
            if ended.code:
                require(str(disk) in ended.told, f"{name} names no place:", ended.told)
                require("writable" in ended.told, f"{name} says no remedy:", ended.told)
        require(seen(disk / "home") == before, "trees were lost")
        require(build(disk).code == 0, "writable again, it did not build")
    yield Row(
        "the disk is remounted read-only",
        "what cannot be done is an error that names the place and the remedy; writable again, all "
        "is there and it builds",
        "as promised",
        ", ".join(f"{name}: {'done' if not e.code else 'refused'}" for name, e in told.items()),
    )


def _mount(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["mount", *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise LeftOutError("there is no `mount` here") from error
