"""What a person reads who types `make`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.app_process import ROOT
from tests.wheels import build_wheel, hash_file

pytestmark = pytest.mark.slow


def test_without_a_network_a_sentence_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": "", "PIP_RETRIES": "1"}
    command = ["make", "setup", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "The package registry cannot be reached." in done.stdout
    assert "conflicting dependencies" not in done.stdout + done.stderr


def test_a_package_without_its_hash_is_not_installed(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "clock", "1.0")
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "deploy" / "supply").mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / "supply" / "install_log.py", tmp_path / "deploy" / "supply")
    constraints = tmp_path / "constraints.txt"
    (tmp_path / "constraints-dev.txt").touch()
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # the tests run below make
    environment = {**own, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}

    def set_up() -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", "setup"], check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)

    for line, reason in (("", "Hashes are required"), (f"--hash=sha256:{'0' * 64}", "DO NOT MATCH THE HASHES")):
        constraints.write_text(f"clock==1.0 {line}\n")
        refused = set_up()
        assert refused.returncode != 0
        assert reason in refused.stdout
    assert "clock-1.0-py3-none-any.whl is not the file that is pinned." in refused.stdout
    constraints.write_text(f"clock==1.0 \\\n    --hash=sha256:{hash_file(wheel)}\n")
    assert set_up().returncode == 0
    assert (tmp_path / ".venv" / "constraints.txt").read_text() == "clock==1.0\n"
