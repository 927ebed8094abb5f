"""Every request that an app answers, derived from the app itself: its routes, lists of actions, callbacks and sockets.

A part with a new name is not skipped: the walk fails until its meaning is told.
"""

import asyncio
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import urlencode

import httpx
from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute

from components.page import PANELS, build_lists
from tests.app_process import PATIENCE
from tests.people import Things
from tests.running_app import write_id

JSON = dict[str, Any]
OF_FILES = ("/_dash-component-suites/", "/_favicon", "/_reload-hash")  # the same for everybody


@dataclass(frozen=True)
class Request:
    """A request, with marks in the place of ids: see `fill_in`."""

    method: str
    path: str
    query: str = ""
    body: str = ""
    is_form: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}?{self.query} {self.body[:80]}"


MARKS = {  # by the name of a part of an address
    **{f"{name}_id": f"<{name}>" for name in ("thread", "message", "checkpoint", "branch", "prompt", "share")},
    "run_id": "<run>",
    "identifier": "<request>",
    "digest": "<digest>",
    "agent": "main",
}
PATHNAMES = ("/t/<thread>", "/")
PLACES = ("", "message:<message>", "checkpoint:<checkpoint>", "branch:<branch>")
QUERY = {
    **{
        "q": "heron",
        "thread": "<thread>",
        "name": "values",
        "namespace": "below",
        "part": "text",
        "call": "<run>",
        "question": "<message>",
    },
    **{"count": "50", "view": "all", "limit": "100", "format": "html"},
}
OF_PLACES = ("place", "one", "other")
OF_POLLS = ("poll", "seen")  # the first request of a poll, under a new id, has seen nothing
FIELDS: JSON = {  # of actions and of bodies
    "version": None,
    **dict.fromkeys(("text", "title", "name", "description", "focus", "instructions"), "walked"),
    **dict.fromkeys(("message", "message_id", "first"), "<message>"),
    **{"thread": "<thread>", "branch": "<branch>", "checkpoint": "<checkpoint>", "call": "<run>", "run": "<run>"},
    **{"kind": "approve", "side": "up_to", "pinned": True, "always": True, "good": True, "archived": True},
    **{"count": 50, "number": 1, "choice": {"instructions": "walked"}, "seen": {}, "inputs": "{}", "model": "demo"},
    **{"threads": ["<thread>"], "add": ["walked"], "remove": ["heron"], "messages": ["<message>"]},
    **{"keep": "on", "length": "with", "destination": "thread", "others": [{"thread": "<thread>", "version": 1}]},
    **{"former": "walked", "new": "walked", "person": "ann", "role": "reader", "days": 1, "confirmed": "walked"},
}
NEW_ID = "0a0a0a0a-0000-4000-8000-0a0a0a0a0a0a"  # that a page has chosen
UPLOADED = [{"id": "<upload>", "name": "heron.txt"}]


def list_requests(server: FastAPI, dependencies: Sequence[JSON]) -> Iterator[Request]:
    """List every request of the pages of a conversation and of the start page."""
    for route in server.routes:
        if not isinstance(route, APIRoute) or route.path.startswith(OF_FILES):
            continue
        unknown = {each.name for each in route.dependant.query_params} - QUERY.keys() - {*OF_PLACES, *OF_POLLS}
        assert not unknown, f"say in QUERY what {unknown} of {route.path} means"
        assert "{thread_id}" not in route.path, f"{route.path} needs thread_id:thread: graphs give their threads any id"
        for method in sorted(route.methods):
            yield from _list_of_route(method, _drop_converters(route.path), dependencies)


def _list_of_route(method: str, path: str, dependencies: Sequence[JSON]) -> Iterator[Request]:
    if path == "/api/actions/{list_id}":
        kinds = [(name, kind) for name, actions in build_lists(PANELS).items() for kind in actions.handlers]
        for (name, kind), pathname, files in product(kinds, PATHNAMES, (None, UPLOADED)):
            action = {**FIELDS, "type": kind, "request_id": "<op>", "files": files}
            yield Request(method, f"/api/actions/{name}", body=json.dumps({"pathname": pathname, "action": action}))
    elif path == "/_dash-update-component":
        of_server = [each for each in dependencies if not each["clientside_function"]]
        for each, pathname in product(of_server, PATHNAMES):
            yield Request(method, path, body=json.dumps(_build_callback(each, pathname)))
    elif path.endswith("/events"):
        yield Request(method, path.format_map(_Marks()), "poll=<op>", body="<thread>")
    elif path == "/api/uploads/{purpose}":
        yield Request(method, "/api/uploads/file", body="x")
    else:
        filled = path.format_map(_Marks())
        for place in PLACES if "{thread_id}" in path else PLACES[:1]:
            query = urlencode({**QUERY, **dict.fromkeys(OF_PLACES, place)}, safe="<>")
            if method == "GET":
                yield Request(method, filled, query)
                continue
            fields = FIELDS | {"role": "reader"} if "/members" in path else FIELDS
            body = {**fields, "id": NEW_ID, "request_id": "<op>", "place": place, "pathname": PATHNAMES[0]}
            yield Request(method, filled, body=json.dumps(body))
            yield Request(method, filled, body=query, is_form=True)


def _drop_converters(path: str) -> str:
    """Return a route's path with {thread_id} where it has {thread_id:thread}."""
    return re.sub(r":\w+(?=})", "", path)


class _Marks(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return MARKS[name]  # a KeyError: say in MARKS what it means


def _build_callback(dependency: JSON, pathname: str) -> JSON:
    output = dependency["output"]
    names = output[2:-2].split("...") if output.startswith("..") else [output]
    outputs = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
    given = {kind: [_fill_property(each, pathname) for each in dependency[kind]] for kind in ("inputs", "state")}
    [first, *_] = given["inputs"]
    [row, *_] = first if isinstance(first, list) else [first]
    changed = f"{row['id'] if isinstance(row['id'], str) else write_id(row['id'])}.{row['property']}"
    return {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "changedPropIds": [changed],
        **given,
    }


def _fill_property(part: JSON, pathname: str) -> Any:
    """Give a property a value. Of the rows of a list, one has been pressed."""
    if not part["id"].startswith("{"):
        return {**part, "value": _choose_value(part["id"], part["property"], pathname)}
    kind = json.loads(part["id"])["type"]
    row = {"type": kind, "row": ROWS[kind]}  # a KeyError: say it there
    known = {"n_clicks": 1, "id": row}
    return [{"id": row, "property": part["property"], "value": known.get(part["property"]) or VALUES[kind]}]


def _choose_value(identifier: str, name: str, pathname: str) -> Any:
    """Return a value of a property."""
    by_name = {
        "n_clicks": 1,
        "n_submit": 1,
        "options": [],
        "pathname": pathname,
        "href": f"http://127.0.0.1:8050{pathname}",
    }
    if name in by_name:
        return by_name[name]
    if identifier.endswith("-changed"):  # when what a dialog shows was changed
        return 1
    if identifier.endswith("-opened") and identifier not in VALUES:  # when a dialog was opened, and about what
        places = dict.fromkeys(("one", "other", "place"), "branch:<branch>")
        return {"at": 1, "about": {"id": "<checkpoint>", "name": "walked", "threads": ["<thread>"], **places}}
    return VALUES[identifier]  # a KeyError: say there what it is


ROWS: dict[str, str] = {  # what the rows of a list are, by the kind of their buttons: a mark
    **{"end-session": "<run>", "audit-more": "1"},
    **{"share-revoke": "<share>", "member-role": "editor:ann", "member-remove": "ann", "member-leave": "own"},
    **{"log-more": "400", "connect-field": "openai:MODEL"},
    **{"setting": "instructions", "default-instructions": "own"},
    **{"tag-name": "<tag>:heron", "tag-remove": "<tag>:heron", "tag-restore": "<tag>", "tag-undo": "last"},
    **{"tag-give": "walked", "tag-take": "heron", "bring-back": "1:<thread>"},
    **{"person-role": "member:ann", "person-password": "ann", "person-link-end": "<share>", "person-named": "own"},
    **dict.fromkeys(("prompt-delete", "prompt-restore"), "<prompt>"),
    **{"prompt-name": "own", "prompt-text": "own"},
}


VALUES: JSON = {  # by the ids of components
    **{"log": {"at": 1, "count": 50}, "import-file": UPLOADED[0], "import-dialog": False},
    **{"password-dialog-former": "walked", "password-dialog-new": "walked"},
    **{"audit-person": "ann", "audit-kind": "sign-in"},
    **{"connect-dialog-provider": "openai", "connect-field": "walked"},
    **{"settings-kept": None, "settings-seen": {"instructions": ""}, "setting": "walked", "default-instructions": "walked"},
    "app-settings-seen": "",
    **{"usage-by": "person", "usage-measure": "cost", "usage-period": "7"},
    **{"share-results": True, "share-files": False, "share-shows-name": True, "share-words": "heron", "share-days": "1"},
    "share-next": "w" * 43,
    **{"bring-text": "walked", "bring-messages": ["<message>"], "undo-state": {"version": None}},
    **{"compare-shown": "one", "again-first": "<message>", "again-model": " ", "again-instructions": "walked"},
    **{"share-name": "ann", "share-role": "reader", "member-role": "reader"},
    **{"tag-name": "walked", "tag-choice-field": "walked"},
    **{"tags-done": {"tag": "<tag>", "former": "walked", "text": "walked"}},
    **{"people-role": "reader", "people-days": "1", "person-role": "reader", "person-named": "ann"},
    "person-erasure-opened": {"at": 1, "about": "ann"},
    **{"prompts-deleted": {"id": "<prompt>", "name": "walked", "text": "walked"}, "prompt-name": "walked"},
    "prompts-dialog": True,
    **{"prompt-text": "walked", "prompt-dialog-opened": {"at": 1, "about": "<prompt>"}},
}


def list_sockets(server: FastAPI) -> Iterator[Request]:
    for route in server.routes:
        if isinstance(route, APIWebSocketRoute):
            for query in ("", "expected"):
                yield Request("WEBSOCKET", _drop_converters(route.path).format_map(_Marks()), query, body="<thread>")


def fill_in(request: Request, things: Things, thread: str | None = None) -> Request:
    """Put ids in the place of the marks, and a new operation's id."""
    op, ids = str(uuid.uuid4()), {**vars(things), "thread": thread or things.thread}

    def fill(text: str) -> str:
        for name, value in {**ids, "op": op}.items():
            text = text.replace(f"<{name}>", value)
        return text

    return Request(request.method, fill(request.path), fill(request.query), fill(request.body), request.is_form)


async def send(browser: httpx.AsyncClient, request: Request) -> httpx.Response:
    kind = "application/x-www-form-urlencoded" if request.is_form else "application/json"
    url = f"{request.path}?{request.query}" if request.query else request.path
    content = request.body.encode() if request.method == "POST" else None
    return await browser.request(request.method, url, content=content, headers={"content-type": kind})


async def follow(
    asgi: Any, request: Request, headers: Mapping[str, str], client: tuple[str, int], until: str = "websocket.close"
) -> list[JSON]:
    """Open a socket, say the name of a conversation, if any, and return what the server sends until such a message."""
    sent: list[JSON] = []
    names = [{"type": "websocket.receive", "text": request.body}] if request.body else []
    incoming = [{"type": "websocket.connect"}, *names]
    ended = asyncio.Event()

    async def receive() -> JSON:
        if incoming:
            return incoming.pop(0)
        await ended.wait()
        return {"type": "websocket.disconnect", "code": 1000}

    async def note(message: JSON) -> None:
        sent.append(message)
        if message["type"] in (until, "websocket.close"):
            ended.set()

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "websocket", "scheme": "ws", "path": request.path, "raw_path": request.path.encode(), "headers": raw}
    more = {"query_string": request.query.encode(), "client": client, "subprotocols": [], "root_path": ""}
    async with asyncio.timeout(PATIENCE):
        await asgi({**scope, **more}, receive, note)
    return sent
