"""Ask the registry about the pins: a yanked one fails, newer versions are named.

`python -m supply.registry` is a part of `make check`. Without a network it says so and does not fail.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

from supply.pins import CONSTRAINTS, DEVELOPMENT_CONSTRAINTS, GRAPH_CONSTRAINTS, ROOT, Pin, read_pins, read_requirements

_YANKED = re.compile(r'^warning: `(?P<pin>\S+)` is yanked(?: \(reason: "(?P<reason>.*)"\))?$', re.MULTILINE)
_COMPILE = (sys.executable, "-m", "uv", "pip", "compile", "--color", "never", "--universal", "--python-version", "3.11")
_NO_SOLUTION = 1  # uv's exit code; 2 is a registry that does not answer


class RegistryError(Exception):
    """The registry cannot be reached."""


class MissingPinError(Exception):
    """The registry no longer has a version that is pinned."""


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
    """Return the pins that their authors withdrew."""
    lines = (f"{pin.name}=={pin.version}" + (f" ; {pin.marker}" if pin.marker else "") for pin in pins)
    warnings = _resolve(lines, "--no-deps").stderr
    return tuple(Yanked(match["pin"], match["reason"] or "no reason is given") for match in _YANKED.finditer(warnings))


def find_newer(pins: Iterable[Pin], requirements: Iterable[Path], *options: str) -> tuple[Newer, ...]:
    """Return the pins that are behind the newest versions that fit together."""
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
    return 1 if yanked else 0


if __name__ == "__main__":
    sys.exit(main())
