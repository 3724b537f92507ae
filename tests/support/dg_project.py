"""A project as ``create-dagster project`` lays it out now, with corpora in YAML."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from click.testing import CliRunner
from support.stores import PROCESS_PATH
from support.summarizers import ScriptedSummarizer
from support.workshop import SMALL, prose

from raptor_assets.cli import main

PYPROJECT = """\
[project]
name = "{name}"
version = "0.1.0"
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "{name}"
code_location_target_module = "{name}.definitions"
"""
DEFINITIONS = """\
from pathlib import Path

from dagster import definitions, load_from_defs_folder


@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""
IN_TURN = """\
import json, sys
from dagster_dg_cli.cli import cli
for words in json.loads(sys.argv[1]):
    cli(words, standalone_mode=False)
"""
COMPONENT = "raptor_assets.RaptorCorpusComponent"
ROOT = "{{ context.project_root }}"


class Summarizer(ScriptedSummarizer):
    """Summarizer that fails at zebras."""

    def __init__(self, _settings: Any) -> None:
        super().__init__(failing="zebra")


COMPONENTS = {
    **SMALL["components"],
    "embedder": "support.hashing:HashingEmbedder",
    "summarizer": "support.dg_project:Summarizer",
}
SETTINGS = {**SMALL, "components": COMPONENTS}


class DgProject:
    """A project's folder with an instance, whose commands run as a team runs them."""

    def __init__(self, root: Path, name: str = "team") -> None:
        self.root, self.name = root, name
        self.package = root / "src" / name
        (self.package / "defs").mkdir(parents=True)
        (self.package / "defs" / "__init__.py").touch()
        (self.package / "__init__.py").touch()
        (self.package / "definitions.py").write_text(DEFINITIONS)
        (root / "pyproject.toml").write_text(PYPROJECT.format(name=name))
        self.instance_folder = root / "instance"
        self.instance_folder.mkdir()
        (self.instance_folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    def add_documents(self, corpus: str, *names: str) -> None:
        """Write documents of a corpus."""
        (self.root / corpus).mkdir(exist_ok=True)
        for number, name in enumerate(names):
            (self.root / corpus / name).write_text(prose(16, seed=number))

    def add_corpus(
        self, name: str, settings: dict[str, Any] | None = None, **attributes: Any
    ) -> None:
        """Write a component over a folder of the corpus's name."""
        source = {"paths": [f"{ROOT}/{name}"]}
        parts = {**SETTINGS, "source": source, **(settings or {})}
        home = f"{ROOT}/.raptor/{name}"
        values = {"name": name, "home": home, "settings": parts, **attributes}
        folder = self.package / "defs" / name
        folder.mkdir(exist_ok=True)
        text = yaml.safe_dump({"type": COMPONENT, "attributes": values})
        (folder / "defs.yaml").write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the project's commands."""
        return {
            "DAGSTER_HOME": str(self.instance_folder),
            "PYTHONPATH": os.pathsep.join((str(self.root / "src"), PROCESS_PATH)),
            "DAGSTER_DG_CLI_CONFIG": str(self.root / "none"),
            "COLUMNS": "200",
        }

    def dg(self, *commands: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run commands of dg in the project's folder, in one process."""
        return subprocess.run(
            [sys.executable, "-c", IN_TURN, json.dumps(commands)],
            cwd=self.root,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def raptor(self, corpus: str, *words: str) -> Any:
        """Run a command of raptor on a corpus's home."""
        home = str(self.root / ".raptor" / corpus)
        environment = {"DAGSTER_HOME": str(self.instance_folder)}
        return CliRunner().invoke(main, [*words, "--home", home], env=environment)

    def load(self) -> dg.Definitions:
        """Load the project's definitions in this process, as they stand now."""
        source = str(self.root / "src")
        if source not in sys.path:
            sys.path.insert(0, source)
        with contextlib.redirect_stderr(io.StringIO()):
            return dg.load_from_defs_folder(path_within_project=self.package)

    def instance(self) -> dg.DagsterInstance:
        """Open the project's instance."""
        return dg.DagsterInstance.from_config(str(self.instance_folder))

    def execute(self, job: str, config: Any = None, tags: Any = None) -> dg.ExecuteInProcessResult:
        """Execute a job of the project in this process."""
        with self.instance() as instance:
            return (
                self.load()
                .resolve_job_def(job)
                .execute_in_process(
                    instance=instance, run_config=config, tags=tags, raise_on_error=False
                )
            )

    def trees(self, corpus: str) -> dict[str, int]:
        """Return how often each tree of a corpus was published."""
        with self.instance() as instance:
            key = dg.AssetKey([corpus, "tree"])
            names = [r.partition_key for r in instance.fetch_materializations(key, 99).records]
        return {str(name): names.count(name) for name in sorted(set(names), key=str)}
