"""The pins of the constraints: versions, hashes, and the packages that need them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
DEVELOPMENT_CONSTRAINTS = ROOT / "constraints-dev.txt"
# These are for users' graphs, in the tests.
GRAPH_CONSTRAINTS = ROOT / "constraints-graphs.txt"
_HASH = "--hash=sha256:"


@dataclass(frozen=True)
class Pin:
    """A version of a package.

    `parents` are the packages and files (`-r requirements.txt`) that need it. `marker` is empty, or limits the pin to some
    platforms.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    parents: tuple[str, ...]


def read_pins(path: Path) -> tuple[Pin, ...]:
    """Return the pins of a file from `make lock`."""
    return tuple(_parse_block(block) for block in _split_blocks(path.read_text(encoding="utf-8")))


def _split_blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each pin: the first has its name, and the indented lines its hashes and parents."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith("    ") and block:
            block.append(line.strip())
            continue
        if block:
            yield block
        block = [line] if line and not line.startswith("#") else []
    if block:
        yield block


def _parse_block(block: list[str]) -> Pin:
    requirement = Requirement(block[0].removesuffix("\\"))
    (exact,) = requirement.specifier
    comments = (line.removeprefix("#").strip().removeprefix("via").strip() for line in block[1:] if line.startswith("#"))
    return Pin(
        name=canonicalize_name(requirement.name),
        version=exact.version,
        marker=str(requirement.marker or ""),
        hashes=tuple(line.removeprefix(_HASH).split()[0] for line in block[1:] if line.startswith(_HASH)),
        parents=tuple(comment for comment in comments if comment),
    )


def read_requirements(path: Path) -> tuple[Requirement, ...]:
    """Return the lines of a requirements file, without the lines of included files."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return tuple(Requirement(line) for line in lines if line and not line.startswith("-"))
