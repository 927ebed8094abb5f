"""Check the pins against the registry and OSV: yanked and faulty pins fail, and newer versions are named.

`python -m supply.registry` is a part of `make check`. Without a network it says so and does not fail.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.specifiers import SpecifierSet

from deploy.supply.pins import (
    CONSTRAINTS,
    DEVELOPMENT_CONSTRAINTS,
    GRAPH_CONSTRAINTS,
    ROOT,
    Pin,
    read_pins,
    read_requirements,
)

_YANKED = re.compile(r'^warning: `(?P<pin>\S+)` is yanked(?: \(reason: "(?P<reason>.*)"\))?$', re.MULTILINE)
_COMPILE = (sys.executable, "-m", "uv", "pip", "compile", "--color", "never", "--universal", "--python-version", "3.11")
# These are uv's exit codes.
_NO_SOLUTION = 1
_NO_ANSWER = 2
FAULTS_ADDRESS = "https://api.osv.dev"
_AUDIT = (sys.executable, "-m", "uv", "audit", "--color", "never", "--preview-features", "audit-command")
# The excluded package is not pinned: see requirements-graphs.txt.
_SCRIPT = """# /// script
# requires-python = ">=3.11"
# dependencies = {}
# [tool.uv]
# exclude-dependencies = ["langchain-google-genai"]
# ///
"""


class RegistryError(Exception):
    """The registry, or the list of known faults, cannot be reached."""


class MissingPinError(Exception):
    """The registry no longer has a pinned version."""


@dataclass(frozen=True)
class Yanked:
    pin: str
    reason: str


@dataclass(frozen=True)
class Newer:
    name: str
    version: str
    newest: str


def _resolve(requirements: Iterable[str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [*_COMPILE, "--no-annotate", "--no-header", *options, "-"]
    resolution = subprocess.run(  # noqa: S603  (no word of the command comes from outside)
        command, input="\n".join(requirements), capture_output=True, encoding="utf-8", check=False
    )
    if resolution.returncode == _NO_SOLUTION:
        raise MissingPinError(resolution.stderr.strip())
    if resolution.returncode:
        raise RegistryError(resolution.stderr.strip())
    return resolution


def find_yanked(pins: Iterable[Pin]) -> tuple[Yanked, ...]:
    """Return the pins withdrawn by their authors."""
    warnings = _resolve(_write_lines(pins), "--no-deps").stderr
    return tuple(Yanked(match["pin"], match["reason"] or "no reason is given") for match in _YANKED.finditer(warnings))


def find_faults(pins: Iterable[Pin], address: str) -> str:
    """Return the known faults of the pins from OSV at the address, in uv's words; empty if there are none."""
    with TemporaryDirectory() as folder:
        script = Path(folder) / "pins.py"
        script.write_text(_SCRIPT.format(json.dumps(_write_lines(pins))), encoding="utf-8")
        audit = subprocess.run(  # noqa: S603  (no word of the command comes from outside)
            [*_AUDIT, "--service-url", address, "--script", script],
            capture_output=True,
            encoding="utf-8",
            check=False,
            # With a mirror in place of the public registry, the list is often missing: do not wait longer for it then.
            env={"UV_HTTP_RETRIES": "0", **os.environ},
        )
    if audit.returncode == _NO_ANSWER:
        raise RegistryError(audit.stderr.strip())
    return (audit.stdout or audit.stderr).strip() if audit.returncode else ""


def _write_lines(pins: Iterable[Pin]) -> list[str]:
    return [f"{pin.name}=={pin.version}" + (f" ; {pin.marker}" if pin.marker else "") for pin in pins]


def find_newer(pins: Iterable[Pin], requirements: Iterable[Path], *options: str) -> tuple[Newer, ...]:
    """Return the pins behind the newest compatible versions."""
    wanted = [line for path in requirements for line in read_requirements(path)]
    for line in wanted:
        line.specifier = SpecifierSet()
    lines = _resolve(map(str, wanted), *options).stdout.splitlines()
    newest = dict(line.split(" ;")[0].strip().split("==") for line in lines if "==" in line)
    return tuple(
        Newer(pin.name, pin.version, newest[pin.name]) for pin in pins if newest.get(pin.name, pin.version) != pin.version
    )


def main() -> int:
    pins, user_graphs = [*read_pins(CONSTRAINTS), *read_pins(DEVELOPMENT_CONSTRAINTS)], read_pins(GRAPH_CONSTRAINTS)
    try:
        yanked = find_yanked([*pins, *user_graphs])
        newer = find_newer(pins, [ROOT / "requirements.txt", ROOT / "requirements-dev.txt"])
        newer += find_newer(user_graphs, [ROOT / "requirements-graphs.txt"], "--no-deps")
    except RegistryError:
        print("The package registry cannot be reached: the pins were not compared with it.")
        return 0
    except MissingPinError as error:
        print(f"The package registry does not have all pins:\n{error}")
        return 1
    if newer:
        print("Newer versions:", ", ".join(f"{pin.name} {pin.version} → {pin.newest}" for pin in newer))
    for pin in yanked:
        print(f"Yanked: {pin.pin} ({pin.reason}). Pin another version and run make lock.")
    try:
        faults = find_faults([*pins, *user_graphs], FAULTS_ADDRESS)
    except RegistryError:
        faults = ""
        print("The list of known faults cannot be reached: the pins were not looked up in it.")
    if faults:
        print(faults)
    return 1 if yanked or faults else 0


if __name__ == "__main__":
    sys.exit(main())
