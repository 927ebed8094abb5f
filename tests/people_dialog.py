"""The dialog of a server's people, as an admin's page asks for it and reports what was done in it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx

from tests.running_app import JSON, post_callback
from tests.sharing import row

CHANGED = "people-dialog-changed.data"


async def read_people(browser: httpx.AsyncClient) -> httpx.Response:
    opened = {"people-dialog-opened.data": {"at": 1, "about": None}, "url.pathname": "/"}
    return await post_callback(browser, "people-dialog-opened.data", opened, output="people-dialog-body.children")


def list_people(reply: httpx.Response) -> list[str]:
    """Return the names in the dialog."""
    shown = json.dumps(reply.json()["response"]["people-list"]["children"])
    return re.findall(r'"type": "person-erase", "row": "([^"]+)"', shown)


def list_roles(reply: httpx.Response) -> list[tuple[str, str]]:
    """Return the names and roles in the dialog."""
    shown = json.dumps(reply.json()["response"]["people-list"]["children"])
    return re.findall(r'"type": "person-role", "row": "(\w+):([^"]+)"', shown)


async def make_link(browser: httpx.AsyncClient, role: str = "member", days: int = 7, person: str | None = None) -> str:
    """Make a link for a new person, or for a new password of a person, and return it."""
    fields = {"people-role.value": role, "people-days.value": str(days)}
    trigger = row("person-password", person) if person else "people-form.n_submit"
    return str((await _change(browser, trigger, fields))["response"]["people-link"]["value"])


async def change_role(browser: httpx.AsyncClient, name: str, role: str) -> str | None:
    """Change a role. Return the sentence of a refusal."""
    trigger = row("person-role", f"former:{name}", "value")
    return find_problem(await _change(browser, trigger, {trigger: role}))


async def count_things(browser: httpx.AsyncClient, name: str) -> list[str]:
    opened = {"person-erasure-opened.data": {"at": 1, "about": name}, "url.pathname": "/"}
    reply = await post_callback(browser, "person-erasure-opened.data", opened, output="person-erasure-body.children")
    [listed] = [each for each in reply.json()["response"]["person-erasure-body"]["children"] if each["type"] == "Ul"]
    return [each["props"]["children"] for each in listed["props"]["children"]]


async def erase(
    browser: httpx.AsyncClient, name: str, confirmed: str | None = None, headers: Mapping[str, str] | None = None
) -> str | None:
    """Erase a person. Return the sentence of a refusal."""
    opened = {"person-erasure-opened.data": {"at": 1, "about": name}, "person-named.value": confirmed or name}
    browser.headers.update(headers or {})
    return find_problem(await _change(browser, "person-erasure-erase.n_clicks", opened))


def find_problem(reply: Any) -> str | None:
    problem: str | None = reply.get("sideUpdate", {}).get("people-dialog-problem-text", {}).get("children")
    return problem


async def _change(browser: httpx.AsyncClient, trigger: str, values: JSON) -> Any:
    reply = await post_callback(browser, trigger, values, output=CHANGED)
    assert reply.status_code == 200, reply.text
    return reply.json()
