"""Print a bill of materials in CycloneDX's JSON format: `python -m supply.bill_of_materials VERSION`.

The components are the pins of all platforms, with the hashes of all their files. Licences come from the installed packages.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any
from uuid import uuid4

from deploy.supply.pins import CONSTRAINTS, DEVELOPMENT_CONSTRAINTS, GRAPH_CONSTRAINTS, Pin, read_pins

_WAYMARK = "waymark"


def _name_address(pin: Pin) -> str:
    """Return the package URL, which is also the component's reference."""
    return f"pkg:pypi/{pin.name}@{pin.version}"


def _find_licences(name: str) -> list[dict[str, Any]]:
    """Return the licence of an installed package; empty if it is not installed, as on another platform."""
    try:
        fields = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    if expressions := fields.get_all("License-Expression"):
        return [{"expression": expressions[0]}]
    classifiers = [value for value in fields.get_all("Classifier", []) if value.startswith("License :: ")]
    names = [value.rsplit(" :: ", 1)[-1] for value in classifiers] or fields.get_all("License", [])
    # Some contain the whole text below the name.
    return [{"license": {"name": name.splitlines()[0]}} for name in names]


def _describe_component(pin: Pin, scope: str) -> dict[str, Any]:
    address = _name_address(pin)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": address,
        "name": pin.name,
        "version": pin.version,
        "scope": scope,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
        "purl": address,
    }
    if licences := _find_licences(pin.name):
        component["licenses"] = licences
    return component


def _describe_dependencies(pins: Iterable[Pin]) -> list[dict[str, Any]]:
    """Return the dependencies of Waymark and of each package."""
    needs: dict[str, set[str]] = defaultdict(set)
    addresses = {_WAYMARK: _WAYMARK}
    for pin in pins:
        addresses[pin.name] = _name_address(pin)
        for parent in pin.parents:
            needs[_WAYMARK if parent.startswith("-r ") else parent.split("[")[0]].add(_name_address(pin))
    return [{"ref": address, "dependsOn": sorted(needs[name])} for name, address in addresses.items()]


def describe_pins(required: Iterable[Pin], development: Iterable[Pin], version: str) -> str:
    """Return the bill of materials. The packages of tests and checks have the scope `excluded`."""
    required, development = list(required), list(development)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
            "component": {"type": "application", "bom-ref": _WAYMARK, "name": "Waymark", "version": version},
        },
        "components": [_describe_component(pin, "required") for pin in required]
        + [_describe_component(pin, "excluded") for pin in development],
        "dependencies": _describe_dependencies([*required, *development]),
    }
    return json.dumps(bill, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    development = [*read_pins(DEVELOPMENT_CONSTRAINTS), *read_pins(GRAPH_CONSTRAINTS)]
    print(describe_pins(read_pins(CONSTRAINTS), development, sys.argv[1]))
