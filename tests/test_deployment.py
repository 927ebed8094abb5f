"""What starts the containers names settings, commands and files that there are."""

import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from commands import arguments
from config import Settings

ROOT = Path(__file__).parent.parent
COMPOSED = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = {name: each for name, each in COMPOSED["services"].items() if each["image"] == "waymark"}
IGNORED = {"benchmarks", "docs", "tests", "supply", "deploy", "build", "data"}  # the image is without them


def test_processes_of_waymark_have_settings_and_commands_that_there_are() -> None:
    assert set(OURS) == {"web", "worker"}
    for service in OURS.values():
        assert {name.lower() for name in service["environment"]} <= Settings.model_fields.keys()
        assert arguments.parse_arguments(service["command"].split()).command in {"serve", "work"}


def test_the_proxys_network_is_that_of_the_containers() -> None:
    (subnet,) = COMPOSED["networks"]["inner"]["ipam"]["config"]
    assert {each["environment"]["PROXY_NETWORKS"] for each in OURS.values()} == {subnet["subnet"]}


def test_a_container_is_not_killed_before_its_tools_have_ended() -> None:
    tool, end = (Settings.model_fields[name].default for name in ("limits_tool_seconds", "shutdown_seconds"))
    given = min(float(service["stop_grace_period"].removesuffix("s")) for service in OURS.values())
    assert tool + 10 <= end <= given - 20


@pytest.mark.parametrize("name", ["SITE", "PROXY_SECRET", "POSTGRES_PASSWORD"])
def test_a_variable_that_must_be_set_is_in_the_example(name: str) -> None:
    assert f"${{{name}:?}}" in (ROOT / "compose.yaml").read_text()
    assert re.search(rf"^{name}=", (ROOT / ".env.compose.example").read_text(), re.MULTILINE)


def test_the_image_has_every_package_and_nothing_else() -> None:
    admitted = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    folders = {each.parent.name for each in ROOT.glob("*/__init__.py")} | {"assets"}
    assert admitted == folders - IGNORED | {"*.py", "constraints.txt"}


def test_the_door_replaces_the_headers_that_name_a_person() -> None:
    lines = (ROOT / "deploy" / "Caddyfile").read_text().split("\n")
    assert [line.split()[1] for line in lines if "header_up" in line] == [
        "X-Forwarded-User",
        "X-Forwarded-Groups",
        "X-Waymark-Proxy-Secret",
    ]
