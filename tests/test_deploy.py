"""Files of ``deploy/``: what can be checked of them without the tools that read them."""

import re
import tomllib
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.instance.config import dagster_instance_config

from raptor_assets.project.records import BROKER_VARIABLE, URL_VARIABLE
from raptor_core.settings import Settings

DEPLOY = Path(__file__).parents[1] / "deploy"
README = (DEPLOY / "README.md").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())
VALUES = yaml.safe_load((DEPLOY / "kubernetes" / "values.yaml").read_text())
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


def test_the_qdrant_server_of_compose_is_the_release_that_the_tests_ran_on():
    told = (DEPLOY.parent / "docs" / "stores.md").read_text()
    version = COMPOSE["services"]["qdrant"]["image"].partition(":v")[2]
    assert f"server, release {version}," in " ".join(told.split())


def test_runs_go_to_workers_through_dagsters_own_launcher():
    from dagster_celery.launcher import CeleryRunLauncher

    config = yaml.safe_load((DEPLOY / "dagster-workers.yaml").read_text())
    launcher = config["run_launcher"]
    assert (launcher["module"], launcher["class"]) == (
        CeleryRunLauncher.__module__,
        CeleryRunLauncher.__name__,
    )
    assert launcher["config"].keys() <= CeleryRunLauncher.config_type().keys()
    assert {value["env"] for value in launcher["config"].values()} == {BROKER_VARIABLE}


def test_the_settings_are_settings(monkeypatch):
    found = Settings.model_validate(tomllib.loads((DEPLOY / "raptor.toml").read_text()))
    assert found.store.kind == "server"
    assert found.tables.url.startswith("s3://")
    assert found.unpriced_models == ()


def test_every_variable_is_in_the_example_and_told():
    text = (DEPLOY / "docker-compose.yaml").read_text()
    asked = set(re.findall(r"(?<!\$)\$\{(\w+)", text))
    assert asked == EXAMPLE.keys()
    assert [name for name in sorted(asked) if f"`{name}`" not in README] == []


def test_no_file_holds_a_secret():
    assert set(EXAMPLE.values()) == {""}
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY|_URL|SECRET", name):
                assert re.fullmatch(r"\$\{\w+:[?-].*\}", value), name
    for path in FILES:
        assert not re.search(r"://[^\s/:@]*:[^\s@]{3,}@", path.read_text()) or path.suffix == ".md"


def test_services_are_bounded_looked_after_and_pinned():
    for name, service in COMPOSE["services"].items():
        assert re.search(r":v?\d+\.\d+", service["image"]), name
        assert service["healthcheck"]["test"], name
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}, name
        assert service["restart"] == "unless-stopped", name
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), name
    named = {
        volume.split(":")[0]
        for service in COMPOSE["services"].values()
        for volume in service["volumes"]
        if not volume.startswith(".")
    }
    assert named == COMPOSE["volumes"].keys()
    for service in COMPOSE["services"].values():
        mounts = (volume.split(":")[0] for volume in service["volumes"])
        assert all((DEPLOY / path).exists() for path in mounts if path.startswith("."))
        assert COMPOSE["services"].keys() >= service.get("depends_on", {}).keys()


def test_the_image_holds_what_its_users_start():
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    assert any(re.fullmatch(r"FROM python:3\.\d+\.\d+-\S+", line) for line in lines)
    assert "USER raptor" in lines
    extras = re.search(r"'\.\[(.*)\]'", "\n".join(lines))[1].split(",")
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    assert set(extras) <= project["optional-dependencies"].keys()
    assert {"postgres", "workers", "s3"} <= set(extras)
    makefile = (DEPLOY.parent / "Makefile").read_text()
    assert re.search(r"torch==\S+", makefile)[0] in "\n".join(lines)
    version = project["version"]
    images = [
        service["image"] for service in COMPOSE["services"].values() if "raptor" in service["image"]
    ]
    assert set(images) == {f"raptor-assets:{version}"}
    assert VALUES["dagsterDaemon"]["image"]["tag"] == version


def test_dagster_takes_what_the_chart_adds(tmp_path):
    """The chart writes its own queue, which contradicts these limits, unless it is told not to."""
    added = VALUES["additionalInstanceConfig"]
    daemon = VALUES["dagsterDaemon"]
    if daemon["runCoordinator"]["enabled"]:
        queue = daemon["runCoordinator"]["config"]["queuedRunCoordinator"]
        added["run_coordinator"] = {
            "module": "dagster.core.run_coordinator",
            "class": "QueuedRunCoordinator",
            "config": {"max_concurrent_runs": queue["maxConcurrentRuns"]},
        }
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(added))
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert type(instance.run_coordinator).__name__ == "QueuedRunCoordinator"
        config = instance.get_concurrency_config()
        assert config.pool_config.default_pool_limit == 4
        assert config.run_queue_config.max_concurrent_runs == 4


def test_the_charts_values_refer_to_secrets_and_bound_everything():
    (deployment,) = VALUES["dagster-user-deployments"]["deployments"]
    parts = (VALUES["dagsterWebserver"], VALUES["dagsterDaemon"], deployment)
    for part in parts:
        assert part["resources"].keys() == {"requests", "limits"}
        assert re.fullmatch(r"\d+\.\d+\.\d+", part["image"]["tag"])
    assert VALUES["generatePostgresqlPasswordSecret"] is False
    assert "postgresqlPassword" not in VALUES["postgresql"]
    assert deployment["envSecrets"] == [{"name": "raptor-secrets"}]
    assert VALUES["global"]["dagsterHome"] == "/raptor/dagster"
    names = (VALUES["global"]["postgresqlSecretName"], "raptor-secrets", "raptor-settings")
    assert [name for name in (*names, "raptor-reports") if name not in README] == []
    pinned = re.search(
        r"^dagster==(.*)$", (DEPLOY.parent / "constraints.txt").read_text(), re.MULTILINE
    )
    assert f"--version {pinned[1]}" in (DEPLOY / "kubernetes" / "values.yaml").read_text()
