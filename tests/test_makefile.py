"""What a person reads who types `make`."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.app_process import ROOT

pytestmark = pytest.mark.slow


def test_without_a_network_a_sentence_says_so(tmp_path: Path) -> None:
    environment = {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": "", "PIP_RETRIES": "1"}
    command = ["make", "setup", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "The package registry cannot be reached." in done.stdout
    assert "conflicting dependencies" not in done.stdout + done.stderr
