"""The `raptor` command in this process, and what it printed."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner
from support.quick_dagster import make_dagster_quick

import raptor_core.models.embedding
import raptor_core.tree.components
from raptor_assets.cli import main
from raptor_core.models.embedding import Embedder, make_embedder
from raptor_core.models.money.ledger import Ledger
from raptor_core.settings import EmbedderSettings

make_dagster_quick()


@dataclass(frozen=True)
class Printed:
    """Exit code and both streams of one call."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value; anything else beside it is an error."""
        return json.loads(self.out)


@functools.cache
def _loaded(settings: EmbedderSettings) -> Embedder:
    return make_embedder(settings)


def _make_once(settings: EmbedderSettings, ledger: Ledger | None = None) -> Embedder:
    """Load each local model once for all calls of the command."""
    return _loaded(settings) if ledger is None else make_embedder(settings, ledger)


def raptor(*arguments: object, **environ: str) -> Printed:
    """Call the command; an exception that it does not report is raised."""
    before_8_2 = "mix_stderr" in inspect.signature(CliRunner).parameters
    streams: dict[str, Any] = {"mix_stderr": False} if before_8_2 else {}
    runner = CliRunner(env={"OPENAI_API_KEY": "", **environ}, **streams)
    is_made_elsewhere = raptor_core.models.embedding.make_embedder is not make_embedder
    with nullcontext() if is_made_elsewhere else embedder_made_by(_make_once):
        result = runner.invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Printed(result.exit_code, result.stdout, result.stderr)


JUDGE = '[components]\njudge = "support.word_judge:WordJudge"'
SMALL_PARTS = f'{JUDGE}\nembedder = "support.hashing:HashingEmbedder"'
"""Settings of a home that loads no model, also in a process of its own."""


@contextmanager
def embedder_made_by(make: Callable[..., Any]):
    """Every embedder comes from ``make``, called as ``make_embedder`` is, once for equal values."""
    make = functools.cache(make)
    with (
        mock.patch.object(raptor_core.models.embedding, "make_embedder", make),
        mock.patch.object(raptor_core.tree.components, "make_embedder", make),
    ):
        yield


@dataclass(frozen=True)
class Place:
    """A folder with a source ``docs`` and a home ``home``."""

    root: Path

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def settings(self) -> Path:
        return self.home / "raptor.toml"

    def write(self, name: str, text: str) -> None:
        """Write a document."""
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def call(self, command: str, *arguments: object, **environ: str) -> Printed:
        """Call a command on this home."""
        return raptor(command, *arguments, "--home", self.home, **environ)

    def configure(self, lines: str) -> None:
        """Put settings of one section, ``"[section]\\nkey = value"``, into the settings file."""
        section, _, values = lines.partition("\n")
        text = self.settings.read_text(encoding="utf-8")
        if f"\n{section}\n" not in text:
            text += f"\n{section}\n"
        changed = text.replace(f"\n{section}\n", f"\n{section}\n{values}\n")
        self.settings.write_text(changed, encoding="utf-8")
