"""Proof of forgetting: `raptor verify`."""

from dataclasses import asdict
from pathlib import Path

import click

from raptor_assets.cli.options import home_and_json
from raptor_assets.cli.output import print_json
from raptor_assets.cli.terminal import say
from raptor_assets.project.home import Home


@click.command(epilog="\b\nExample:\n  raptor verify --gone letters/may.md --text may.md")
@click.option("--gone", "document", required=True, help="Id of the deleted document.")
@click.option("--text", help="Its text, or a file with it; without it only the id is looked for.")
@click.option(
    "--also",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Export, report or folder to search too; may be repeated.",
)
@click.option(
    "--erase",
    "erased",
    is_flag=True,
    help="First erase deleted points, and its text in Dagster's events.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="File for the result as JSON."
)
@home_and_json
def verify_command(
    document: str,
    text: str | None,
    also: tuple[Path, ...],
    erased: bool,
    output: Path | None,
    home: Path,
    as_json: bool,
) -> None:
    """Search a home for what remains of a deleted document, and say how to remove it.

    It reads every file of the home, also packed values and deleted points, and ends with code 1
    if a text or the id still stands there. Dagster's history keeps the names of dropped partitions,
    which are listed apart. --output writes the places and the digest of each file.
    """
    from raptor_assets.standalone.forgetting import verify_forgotten, write_result

    opened, settings = Home.open(home)
    passages = _read_text(text)
    result = verify_forgotten(opened, settings, document, passages, also, erased=erased)
    values = asdict(result)
    if output is not None:
        write_result(output, values)
    if as_json:
        print_json(values)
    else:
        for remnant in result.remnants:
            say(f"{remnant.kind} in {remnant.path} ({remnant.part}): {remnant.remedy}")
        for path in dict.fromkeys(remnant.path for remnant in result.names):
            say(f"history: the id names a dropped partition in {path}", dim=True)
        for limit in result.limits:
            say(f"limit: {limit}", dim=True)
        say(f"{len(result.remnants)} places found in {len(result.files):,} files")
    if result.remnants:
        raise SystemExit(1)


def _read_text(text: str | None) -> str:
    """Return the text, or that of the file that it names."""
    if not text:
        return ""
    path = Path(text)
    is_file = len(text) < 1000 and "\n" not in text and path.is_file()
    return path.read_text(encoding="utf-8", errors="replace") if is_file else text
