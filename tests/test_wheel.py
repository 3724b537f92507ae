"""What is released: the archives hold the packages whole and nothing else, and they work."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from support.smoke import smoke

ROOT = Path(__file__).parent.parent
PACKAGES = ("raptor_formats", "raptor_core", "raptor_assets", "raptor_lab")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


WITHOUT_THE_LABORATORY = {
    "`raptor eval paper` needs the optional extra 'lab': pip install": "eval paper out qasper.json",
    "available: default, paper, quiet. More presets, for comparisons, are in the extra 'lab'": (
        "init --preset simple"
    ),
}
"""What commands say, by message, that need what only the laboratory has."""


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The source archive, and the wheel that was made of it; no registry is asked."""
    folder = tmp_path_factory.mktemp("dist")
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def package_files():
    """Paths of all files of the packages but compiled ones, as git would keep them."""
    files = (path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


@pytest.mark.slow
@pytest.mark.rare
def test_the_archives_hold_the_packages_and_nothing_else(archives):
    source, wheel = archives
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    assert {name for name in inside if ".dist-info/" not in name} == package_files()
    with tarfile.open(source) as archive:
        names = {Path(member).parts[1:2] for member in archive.getnames()}
    known = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}
    assert {part for (part,) in names - {()}} == {*known, *PACKAGES, "raptor_assets.egg-info"}


@pytest.mark.slow
@pytest.mark.rare
def test_the_wheel_works_beside_a_package_called_dagster_project(archives, tmp_path):
    """The environment takes dependencies from ours by a path file, which hides the checkout."""
    environment = tmp_path / "fresh"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", environment), check=True)
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin/python", "install")
    (packages,) = environment.glob("lib/python*/site-packages")
    team = packages / "dagster_project"
    team.mkdir()
    (team / "__init__.py").write_text('raise ImportError("a package of the team, not ours")\n')
    subprocess.run((*pip, "--quiet", "--no-index", "--no-deps", archives[1]), check=True)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "a.md").write_text("\n\n".join(f"The lamp {n} burned oil." * 20 for n in range(30)))
    environ = {**os.environ, "PYTHONPATH": ""}
    for home, preset in {"simple": "simple", "plain": "default"}.items():
        raptor = (environment.absolute() / "bin/raptor", "init", "a.md", "--preset", preset)
        subprocess.run((*raptor, "--home", home), check=True, cwd=tmp_path, env=environ)
    shutil.rmtree(packages / "raptor_lab")
    (entries,) = packages.glob("raptor_assets-*.dist-info/entry_points.txt")
    kept = [line for line in entries.read_text().splitlines() if "raptor_lab" not in line]
    entries.write_text("\n".join(kept))
    smoke(environment)
    assert [path.name for path in team.iterdir()] == ["__init__.py"]
    for refusal, line in WITHOUT_THE_LABORATORY.items():
        command = (environment / "bin/raptor", *line.split())
        environ = {**os.environ, "PYTHONPATH": ""}
        run = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environ
        )
        assert run.returncode
        assert refusal in run.stderr


def test_no_other_file_states_another_version():
    files = [*(ROOT / "deploy").rglob("*"), ROOT / "CITATION.cff"]
    text = "\n".join(path.read_text() for path in files if path.is_file())
    stated = re.findall(r'(?:raptor-assets(?::|, tag: ")|^version: )(\d[\w.]*)', text, re.MULTILINE)
    assert stated == [VERSION] * 7
