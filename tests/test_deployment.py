"""What starts the containers names settings, commands and files that there are."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from application.commands import arguments
from application.settings import Settings

ROOT = Path(__file__).parent.parent
COMPOSED = yaml.safe_load((ROOT / "compose.yaml").read_text())
OURS = {name: each for name, each in COMPOSED["services"].items() if each["image"] == "waymark"}
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
IGNORED = {"benchmarks", "docs", "tests", "deploy", "build", "data"}  # the image is without them


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


def _list_admitted() -> set[str]:
    """What `.dockerignore` lets into the image."""
    return {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}


def _read_instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.*)$", DOCKERFILE, re.MULTILINE)


def _run_as_in_the_image(command: str, folder: Path) -> None:
    """Run a line of a `RUN` with the packages of this Python."""
    subprocess.run(command.replace("/venv/bin/python", sys.executable), shell=True, check=True, cwd=folder)


@contextmanager
def _serving(folder: Path, data: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The process of the image, in its folder that nobody may write to, with its environment."""
    [entry], [environment] = _read_instructions("ENTRYPOINT"), _read_instructions("ENV")
    given = dict(each.split("=") for each in environment.split()) | {"DATA_DIR": str(data), "PORT": str(port)}
    given |= {"AUTH": "proxy", "PUBLIC_URL": "https://waymark.test", "PROXY_NETWORKS": "127.0.0.0/8", "MODEL": "demo"}
    given |= {"PROXY_SECRET": "a-secret-of-the-test-for-the-proxy", "PATH": os.environ["PATH"]}
    assert given["HOST"] == "0.0.0.0"  # of a container; the test listens on this machine alone
    line = [each.replace("/venv/bin/python", sys.executable) for each in json.loads(entry)]
    process = subprocess.Popen(line, cwd=folder, env=given | {"HOST": "127.0.0.1"})
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.slow
def test_what_is_in_the_image_serves_and_answers_its_healthcheck(tmp_path: Path) -> None:
    folder, data = tmp_path / "waymark", tmp_path / "data"
    folder.mkdir()
    data.mkdir(mode=0o700)
    for name in _list_admitted():
        for source in ROOT.glob(name):
            if source.is_dir():
                shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder)
    os.chmod(folder / "app.py", 0o600)  # as a strict umask has it
    [prepare] = [each for each in _read_instructions("RUN") if "compileall" in each]
    _run_as_in_the_image(prepare, folder)
    assert not [each for each in folder.rglob("*") if not each.stat().st_mode & 0o004]
    [check] = [json.loads(each) for each in re.findall(r"HEALTHCHECK .*?CMD (.*)$", DOCKERFILE, re.MULTILINE)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [sys.executable, *(each.replace(":8050", f":{port}") for each in check[1:])]
    with _serving(folder, data, port) as process:
        end = time.monotonic() + 60
        while subprocess.run(line, capture_output=True, check=False).returncode:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.2)
    assert process.returncode in (0, -15)


def test_the_image_has_every_package_and_nothing_else() -> None:
    folders = {each.parent.name for each in ROOT.glob("*/__init__.py")} | {"assets"}
    assert _list_admitted() == folders - IGNORED | {"*.py", "constraints.txt"}


def test_the_door_replaces_the_headers_that_name_a_person() -> None:
    lines = (ROOT / "deploy" / "Caddyfile").read_text().split("\n")
    assert [line.split()[1] for line in lines if "header_up" in line] == [
        "X-Forwarded-User",
        "X-Forwarded-Groups",
        "X-Waymark-Proxy-Secret",
    ]
