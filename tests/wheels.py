"""Small wheels, and a folder of them that package managers read as a registry."""

import hashlib
import zipfile
from pathlib import Path


def build_wheel(folder: Path, name: str, version: str) -> Path:
    """Write a wheel without code."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    information = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return path


def hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build_registry(folder: Path, name: str, versions: dict[str, str | None]) -> str:
    """Write a registry with one package, and return its address. A version with a reason, also an empty one, is yanked."""
    page = folder / name
    page.mkdir(parents=True)
    links = []
    for version, reason in versions.items():
        wheel = build_wheel(page, name, version)
        yanked = f' data-yanked="{reason}"' if reason is not None else ""
        links.append(f'<a href="{wheel.name}#sha256={hash_file(wheel)}"{yanked}>{wheel.name}</a>')
    (page / "index.html").write_text("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>")
    return folder.as_uri()
