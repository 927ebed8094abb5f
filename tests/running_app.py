"""An app in this process, and what a page asks of it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from app import App, create_app
from application.settings import Settings

ORIGIN = "http://127.0.0.1:8050"
JSON = dict[str, Any]


@asynccontextmanager
async def opened(folder: Path, **settings: Any) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    """An app in this process, and a browser that is let in."""
    given: Any = {"model": "demo", "demo_seconds_per_token": 0, "titles": "off"} | settings
    app = create_app(Settings(data_dir=folder, **given), port=8050)
    transport = httpx.ASGITransport(app.asgi)
    try:
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers={"origin": ORIGIN}) as browser:
            yield app, browser
    finally:
        await app.close()


def props_of(part: Any, identifier: str) -> JSON:
    """The properties of the component with this id."""
    if isinstance(part, dict) and part.get("props", {}).get("id") == identifier:
        return part["props"]  # type: ignore[no-any-return]
    below = part if isinstance(part, list) else list(part.get("props", {}).values()) if isinstance(part, dict) else []
    return next((found for each in below if (found := props_of(each, identifier))), {})


def written_properties(dependency: JSON) -> list[str]:
    """The names of a callback's outputs as the page sends them: Dash marks those that several callbacks write."""
    found: list[str] = [] if dependency["no_output"] else dependency["output"].strip(".").split("...")
    return found


async def request_panels(browser: httpx.AsyncClient, pathname: str = "/") -> httpx.Response:
    """The answer with what all panels show, as the page asks for it."""
    return await post_json(browser, "/api/panels", {"pathname": pathname})


async def post_action(browser: httpx.AsyncClient, list_id: str, action: JSON, pathname: str = "/") -> httpx.Response:
    return await post_json(browser, f"/api/actions/{list_id}", {"pathname": pathname, "action": action})


async def post_json(browser: httpx.AsyncClient, path: str, body: JSON) -> httpx.Response:
    # httpx itself cannot send half a surrogate pair
    return await browser.post(path, content=json.dumps(body), headers={"content-type": "application/json"})


def write_id(identifier: JSON) -> str:
    """Write the id of a row's button in Dash's notation. With any other, the row would not be the one that was pressed."""
    return json.dumps(identifier, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


async def press_row(browser: httpx.AsyncClient, kind: str, row: str, values: JSON, *, output: str) -> httpx.Response:
    """Press the button of a row in a list (see `components.dialog.build_row_button`)."""
    return await post_callback(browser, f"{write_id({'type': kind, 'row': row})}.n_clicks", values, output=output)


async def post_callback(
    browser: httpx.AsyncClient, trigger: str, values: JSON, *, output: str = "head.data"
) -> httpx.Response:
    """Run the callback that an input triggers and that writes this output; values by id.property.

    A part of a row triggers by its whole id, as JSON in Dash's notation. Without a value it is a press. The only row of a
    kind has its value under the kind.
    """
    row = json.loads(trigger.rpartition(".")[0]) if trigger.startswith("{") else None

    def is_trigger(part: JSON) -> bool:
        pattern = json.loads(part["id"]) if row and part["id"].startswith("{") else {}
        return f"{part['id']}.{part['property']}" == trigger or bool(row and pattern.get("type") == row["type"])

    def fill(parts: list[JSON]) -> list[Any]:
        return [fill_row(each) if each["id"].startswith("{") else fill_one(each) for each in parts]

    def fill_one(part: JSON) -> JSON:
        return {**part, "value": values.get(f"{part['id']}.{part['property']}")}

    def fill_row(part: JSON) -> list[JSON]:
        kind = json.loads(part["id"])["type"]
        if (name := f"{kind}.{part['property']}") in values:
            return [{"id": {"type": kind, "row": "own"}, "property": part["property"], "value": values[name]}]
        return [{"id": row, "property": part["property"], "value": values.get(trigger, 1)}] if is_trigger(part) else []

    part = next(
        each
        for each in (await browser.get("/_dash-dependencies")).json()
        if output in each["output"] and any(map(is_trigger, each["inputs"]))
    )
    names = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in written_properties(part)]
    outputs = names if part["output"].startswith("..") else names[0]
    body = {"output": part["output"], "outputs": outputs, "inputs": fill(part["inputs"]), "state": fill(part["state"])}
    return await post_json(browser, "/_dash-update-component", {**body, "changedPropIds": [trigger]})
