"""The bill of materials names every pinned package."""

import json
from typing import Any

from deploy.supply.bill_of_materials import describe_pins
from deploy.supply.pins import CONSTRAINTS, DEVELOPMENT_CONSTRAINTS, GRAPH_CONSTRAINTS, Pin, read_pins


def describe_all() -> dict[str, Any]:
    development = [*read_pins(DEVELOPMENT_CONSTRAINTS), *read_pins(GRAPH_CONSTRAINTS)]
    bill: dict[str, Any] = json.loads(describe_pins(read_pins(CONSTRAINTS), development, "1.0"))
    return bill


def test_every_pin_is_a_component_with_its_hashes() -> None:
    components = {(part["name"], part["version"]): part for part in describe_all()["components"]}
    pins = [*read_pins(CONSTRAINTS), *read_pins(DEVELOPMENT_CONSTRAINTS), *read_pins(GRAPH_CONSTRAINTS)]
    assert set(components) == {(pin.name, pin.version) for pin in pins}
    for pin in pins:
        assert {entry["content"] for entry in components[pin.name, pin.version]["hashes"]} == set(pin.hashes)


def test_packages_of_the_tests_are_excluded_from_what_runs() -> None:
    scopes = {part["name"]: part["scope"] for part in describe_all()["components"]}
    assert (scopes["dash"], scopes["pytest"]) == ("required", "excluded")


def test_every_reference_is_a_component_or_waymark() -> None:
    bill = describe_all()
    known = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    references = [entry["ref"] for entry in bill["dependencies"]]
    assert sorted(references) == sorted(known)
    assert {needed for entry in bill["dependencies"] for needed in entry["dependsOn"]} <= known


def test_a_package_depends_on_what_it_brought_along() -> None:
    pins = [Pin("clock", "2.0", "", (), ("-r requirements.txt",)), Pin("gear", "1.0", "", (), ("clock[steel]",))]
    needs = {entry["ref"]: entry["dependsOn"] for entry in json.loads(describe_pins(pins, [], "1.0"))["dependencies"]}
    assert needs == {"waymark": ["pkg:pypi/clock@2.0"], "pkg:pypi/clock@2.0": ["pkg:pypi/gear@1.0"], "pkg:pypi/gear@1.0": []}


def test_an_installed_package_has_its_licence() -> None:
    licences = {part["name"]: part.get("licenses") for part in describe_all()["components"]}
    assert licences["dash"] == [{"license": {"name": "MIT License"}}]
