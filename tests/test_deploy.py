"""Files of ``deploy/``: what can be checked of them without the tools that read them."""

import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config

from raptor_assets.home.records import BROKER_VARIABLE, URL_VARIABLE

DEPLOY = Path(__file__).parents[1] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
VALUES = yaml.safe_load((DEPLOY / "kubernetes" / "values.yaml").read_text())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
EXAMPLE = dict(
    line.split("=", 1)
    for line in (DEPLOY / "example.env").read_text().splitlines()
    if "=" in line and not line.startswith("#")
)


@pytest.mark.parametrize("name", ["dagster.yaml", "dagster-workers.yaml"])
def test_dagster_takes_its_settings(name, tmp_path, monkeypatch):
    monkeypatch.setenv(URL_VARIABLE, "postgresql+psycopg2://u:p@127.0.0.1/x")
    monkeypatch.setenv(BROKER_VARIABLE, "redis://127.0.0.1/0")
    (tmp_path / "dagster.yaml").write_text((DEPLOY / name).read_text())
    config, _ = dagster_instance_config(str(tmp_path))
    assert config["storage"]["postgres"]["postgres_url"] == {"env": URL_VARIABLE}
    assert config["telemetry"] == {"enabled": False}


OURS = {name: each for name, each in COMPOSE["services"].items() if "raptor" in each["image"]}
SCRIPTS = {script.name: script for script in entry_points(group="console_scripts")}
COMMANDS = {
    **{name: service["command"] for name, service in OURS.items()},
    **{
        f"health of {name}": shlex.split(test[1]) if test[0] == "CMD-SHELL" else test[1:]
        for name, service in OURS.items()
        if "python" not in (test := service["healthcheck"]["test"])
    },
    "image": json.loads(re.search(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[1]),
    "kubernetes": [
        *("dagster", "api", "grpc"),
        *VALUES["dagster-user-deployments"]["deployments"][0]["dagsterApiGrpcArgs"],
    ],
}


def application(program):
    """Return the click command that a program of an installed package runs."""
    from celery.bin.celery import celery

    module = SCRIPTS[program].load().__module__
    return celery if program == "celery" else sys.modules[module].cli


def arguments_before(context):
    """The name of a subcommand, which click 8.1 and later ones keep under different names."""
    return getattr(context, "_protected_args", None) or context.protected_args


@pytest.mark.rare
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_have_the_options_that_they_are_given(name):
    program, *arguments = [word.replace("/raptor/", f"{DEPLOY}/") for word in COMMANDS[name]]
    command, context = application(program), None
    while isinstance(command, click.Group) and not command.invoke_without_command:
        context = command.make_context(program, arguments, parent=context)
        words = [*arguments_before(context), *context.args]
        _, command, arguments = command.resolve_command(context, words)
    command.make_context(program, arguments, parent=context)
    for module in re.findall(r"(?<= )[a-z_]+(?:\.[a-z_]+)+(?= |$)", " ".join(COMMANDS[name])):
        assert find_spec(module), module


def test_names_of_variables_images_and_hosts_are_those_of_what_they_name():
    text = (DEPLOY / "docker-compose.yaml").read_text()
    assert (
        {*re.findall(r"\$\{(\w+):\?", text)} <= EXAMPLE.keys() <= {*re.findall(r"\$\{(\w+)", text)}
    )
    code = "".join(path.read_text() for path in DEPLOY.parent.glob("raptor_*/**/*.py"))
    names = {n for n in COMPOSE["x-environment"] if not n.startswith(("AWS_", "CELERY_RESULT"))}
    assert [name for name in names if f'"{name}"' not in code] == []
    images = {service["image"] for service in COMPOSE["services"].values()}
    assert all(re.search(r":v?\d+\.\d", image) for image in images), images
    (server,) = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    host, port = server["grpc_server"]["host"], str(server["grpc_server"]["port"])
    assert port in COMPOSE["services"][host]["command"]
    settings = tomllib.loads((DEPLOY / "raptor.toml").read_text())
    assert urlsplit(settings["store"]["url"]).hostname in COMPOSE["services"]


def test_no_file_holds_a_secret():
    assert set(EXAMPLE.values()) == {""}
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY|_URL|SECRET", name):
                assert re.fullmatch(r"\$\{\w+:[?-].*\}", value), name
    for path in FILES:
        assert not re.search(r"://[^\s/:@]*:[^\s@]{3,}@", path.read_text()) or path.suffix == ".md"
