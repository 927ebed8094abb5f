"""The library as `pip install .` gives it, built from this checkout."""

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[3]


def unpack_wheel(folder: Path) -> Path:
    """Build the wheel in a folder, and return the folder of what is in it."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"
