"""Which Pythons CI runs the tests on."""

import re
import subprocess
from pathlib import Path

from tests.app_process import ROOT

# The first runs all parts. Of the others, one is too old, and one cannot make an environment.
PYTHONS = {
    ".venv/bin": "echo 13",
    **{f"versions/3.{minor}.1/bin": ":" for minor in (9, 11, 12, 13)},
    "versions/3.14.1/bin": "exit 1",
}


def test_the_newest_python_beside_the_first_is_found(tmp_path: Path) -> None:
    found = re.search(r"^find_newest_python\(\) \{.*?^\}", (ROOT / ".ci" / "run").read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    for folder, code in PYTHONS.items():
        (tmp_path / folder).mkdir(parents=True)
        for program in (tmp_path / folder / "python", tmp_path / folder / "python3"):
            program.write_text(f"#!/bin/sh\n{code}\n")
            program.chmod(0o755)
    run = ["/bin/bash", "-c", f"{found[0]}\nfind_newest_python"]
    environment = {"PATH": "", "PYENV_ROOT": str(tmp_path)}
    ran = subprocess.run(run, check=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.stdout == f"{tmp_path}/versions/3.12.1/bin/python3\n"
