"""The peers' packages in an environment of their own, installed when it is first needed."""

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.machine import ROOT

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
ENVIRONMENT = ROOT / "build" / "peers-venv"


def install_peers() -> str:
    """Install what is pinned, unless it is there, and return the Python that has it. Exits with a sentence if pip fails."""
    python = ENVIRONMENT / "bin" / "python"
    installed = ENVIRONMENT / REQUIREMENTS.name
    if not installed.exists() or installed.read_text(encoding="utf-8") != REQUIREMENTS.read_text(encoding="utf-8"):
        print("Installing the peers …", file=sys.stderr)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
            subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        except subprocess.CalledProcessError as error:
            sys.exit(f"The peers of the page cannot be installed: pip ended with {error.returncode}.")
        shutil.copy(REQUIREMENTS, installed)
    return str(python)


def read_pins() -> str:
    """Return the pinned packages in one line."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return ", ".join(line.replace("==", " ") for line in lines if line and not line.startswith("#"))
