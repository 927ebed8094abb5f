"""What the page does, at the level of its requests: requests and callbacks of Dash over HTTP, and the socket of events."""

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.app_process import PATIENCE
from tests.page_key import read_page_key

JSON = dict[str, Any]


class NotAnswered(Exception):
    """The server did not answer as it does in good times: it was killed, or it failed."""


@dataclass
class Frames:
    """What the socket brought so far, while it is followed."""

    seen: list[JSON] = field(default_factory=list)

    def wait_for(self, condition: Callable[[list[JSON]], bool], seconds: float = PATIENCE) -> None:
        """Until the frames fulfil the condition; `AssertionError` with all of them if they do not in time."""
        end = time.monotonic() + seconds
        while not condition(list(self.seen)):
            assert time.monotonic() < end, self.seen
            time.sleep(0.005)

    def kinds(self) -> list[str]:
        return [frame["kind"] for frame in self.seen]

    def ended(self) -> JSON | None:
        """The frame that ended the newest run."""
        return next((frame for frame in reversed(self.seen) if frame["kind"] == "end"), None)


class PageClient:
    """One browser tab. `thread` is what its address names; `version` is what it was last shown; `trouble` is what the
    newest answer said of the database, if anything.
    """

    trouble: str | None = None

    def __init__(self, link: str) -> None:
        self.origin = link.partition("/?")[0].rstrip("/")
        self.thread: str | None = None
        self._http = httpx.Client(base_url=self.origin, headers={"origin": self.origin}, timeout=PATIENCE)
        answer = self._http.get(link)
        assert answer.status_code == 200
        self.page_key = read_page_key(answer.text)
        if self.page_key:
            self._http.headers["x-waymark-page-key"] = self.page_key
        self._dependencies: list[JSON] = self._http.get("/_dash-dependencies").json()
        self._props: dict[str, Any] = {}

    def close(self) -> None:
        self._http.close()

    @property
    def cookie(self) -> str:
        """What the browser is known by, as a header says it."""
        return "; ".join(f"{name}={value}" for name, value in self._http.cookies.items())

    @property
    def socket_options(self) -> dict[str, Any]:
        """What a browser adds to the handshake of a socket."""
        protocols = ["waymark", self.page_key] if self.page_key else None
        return {"origin": self.origin, "additional_headers": {"Cookie": self.cookie}, "subprotocols": protocols}

    def get(self, path: str) -> httpx.Response:
        try:
            return self._http.get(path)
        except httpx.HTTPError as error:
            raise NotAnswered from error

    def tab(self) -> "PageClient":
        """Another tab of the same browser on the same conversation, which shows what this one shows."""
        other = object.__new__(PageClient)
        other.__dict__.update(self.__dict__)
        other._props = dict(self._props)
        other._http = httpx.Client(
            base_url=self.origin, headers=self._http.headers, cookies=self._http.cookies, timeout=PATIENCE
        )
        return other

    # what a person does

    def send(self, text: str, *, request_id: str | None = None) -> JSON:
        """The composer's reply: {request_id, ok, text}. A first message moves the tab to the new conversation."""
        answer = self.act("composer-panel", "send", request_id=request_id, text=text)
        reply: JSON = answer["composer-panel"]["reply"]
        return reply

    def stop(self) -> JSON:
        return self.act("composer-panel", "stop")

    def save(self, name: str, *, request_id: str | None = None) -> JSON:
        return self.act("history", "save", request_id=request_id, name=name, description="")

    def restore(self, checkpoint: str, *, request_id: str | None = None) -> JSON:
        """Ask for the dialog and confirm it."""
        answer = self.act("history", "restore", request_id=request_id, checkpoint=checkpoint)
        return self.confirm_restore() if answer.get("restore-dialog", {}).get("is_open") else answer

    def confirm_restore(self) -> JSON:
        return self.confirm("restore-dialog")

    def confirm(self, dialog: str, **choices: str) -> JSON:
        """Confirm the action that an open dialog holds."""
        return self.request_action(dialog, {**self._props[f"{dialog}-subject.data"], **choices})

    def fork(self, message: str, *, request_id: str) -> JSON:
        """A branch that ends with this message, as confirmed in the dialog."""
        answer = self.act("transcript", "fork", request_id=request_id, message=message)
        is_asked = answer.get("fork-dialog", {}).get("is_open")
        return self.confirm("fork-dialog", length="with", destination="branch", name="") if is_asked else answer

    def step(self, kind: str, *, request_id: str | None = None) -> JSON:
        """Press Undo or Redo in the bar."""
        return self.act("log", kind, request_id=request_id, **self._props["undo-state.data"])

    def undo_in_toast(self, update: JSON) -> JSON:
        """Press Undo in the toast of an update."""
        return self.act("toast", "undo", **update["toast"]["undo"])

    def import_file(self, content: bytes, *, into_this: bool = False) -> JSON:
        """Choose a file and confirm the dialog."""
        self.choose_file(content)
        answer = self.call("import-merge.n_clicks" if into_this else "import-confirm.n_clicks", 1)
        with contextlib.suppress(NotAnswered):  # the dialog closes
            self._props["import-dialog.is_open"] = False
            self._post(self._dependency("import-dialog.is_open", "import-file.data"), "import-dialog.is_open")
        return answer

    def choose_file(self, content: bytes) -> JSON:
        """Upload a file to import; the answer has its preview or a refusal."""
        return self.call("import-file.data", {"id": self._upload("import", content), "name": "waymark.json"})

    def _upload(self, purpose: str, content: bytes) -> str:
        """The id of an upload."""
        try:
            response = self._http.post(f"/api/uploads/{purpose}", content=content)
        except httpx.HTTPError as error:
            raise NotAnswered from error
        if response.status_code != 200:
            raise NotAnswered(response.status_code, response.text)
        identifier: str = response.json()["id"]
        return identifier

    def act(self, component: str, kind: str, *, request_id: str | None = None, **fields: Any) -> JSON:
        """One action as the components report it; what the server answers, by component and property."""
        return self.request_action(component, self._action(component, kind, request_id, **fields))

    def request_action(self, component: str, action: JSON) -> JSON:
        """Send an action as it is."""
        return self._keep_answer(self._request(f"/api/actions/{component}", action=action))

    def _action(self, component: str, kind: str, request_id: str | None = None, **fields: Any) -> JSON:
        shown = self._props.get(f"{component}.data") or {}
        return {"type": kind, "request_id": request_id or str(uuid.uuid4()), "version": shown.get("version"), **fields}

    # what is seen

    def shown(self, panel: str) -> JSON:
        """What a panel was last given."""
        data: JSON = self._props[f"{panel}.data"]
        return data

    def look(self) -> JSON:
        """Read the panels again, as a reload does; the transcript's data."""
        for panel in ("transcript", "composer-panel", "history"):
            self._props.pop(f"{panel}.data", None)
        self._keep_answer(self._request("/api/panels"))
        if "transcript.data" not in self._props:  # the database did not answer: a page asks again
            raise NotAnswered("there are no panels")
        shown: JSON = self._props["transcript.data"]
        return shown

    def texts(self) -> list[str]:
        return [message["text"] for message in self.look()["messages"]]

    def checkpoints(self) -> list[JSON]:
        self.look()
        listed: list[JSON] = self._props["history.data"]["checkpoints"]
        return listed

    def rest(self, seconds: float = PATIENCE) -> JSON:
        """Wait until nothing runs; the transcript's data."""
        end = time.monotonic() + seconds
        while ((shown := self.look())["run"] or {}).get("state") == "running":
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    def until(self, condition: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait for what comes by itself, beside the runs."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.02)

    def say(self, text: str) -> JSON:
        """Send and wait for the end of the answer; the transcript's data."""
        self.look()
        reply = self.send(text)
        assert reply["ok"], reply
        return self.rest()

    @contextlib.contextmanager
    def following(self) -> Iterator[Frames]:
        """The socket of the tab's conversation, read until the block ends."""
        address = f"{self.origin.replace('http', 'ws')}/api/threads/{self.thread}/events"
        frames = Frames()
        with connect(address, **self.socket_options) as socket:

            def read() -> None:
                with contextlib.suppress(ConnectionClosed):
                    for message in socket:
                        frames.seen.append(json.loads(message))

            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            frames.wait_for(lambda seen: bool(seen) or not reader.is_alive())
            if not frames.seen:
                raise NotAnswered(address)
            yield frames
        reader.join(PATIENCE)

    # how it is carried

    def call(self, trigger: str, value: Any) -> JSON:
        """The one callback that this input triggers and that writes the head."""
        self._props[trigger] = value
        return self._keep_answer(self._post(self._dependency(trigger, "head.data"), trigger))

    def _keep_answer(self, answer: JSON) -> JSON:
        self._props.update({f"{c}.{p}": v for c, props in answer.items() for p, v in props.items()})
        if (go := (answer.get("head", {}).get("data") or {}).get("go")) is not None:
            self.thread = go.removeprefix("/t/") if go.startswith("/t/") else None
        return answer

    def _dependency(self, trigger: str, output: str) -> JSON:
        return next(
            each
            for each in self._dependencies
            if f"{each['inputs'][0]['id']}.{each['inputs'][0]['property']}" == trigger and output in each["output"]
        )

    def _post(self, dependency: JSON, trigger: str) -> JSON:
        names = dependency["output"].strip(".").split("...")
        outputs = [dict(zip(("id", "property"), name.rsplit(".", 1), strict=True)) for name in names]
        body = {
            "output": dependency["output"],
            "outputs": outputs if dependency["output"].startswith("..") else outputs[0],
            "inputs": [self._valued(each) for each in dependency["inputs"]],
            "state": [self._valued(each) for each in dependency["state"]],
            "changedPropIds": [trigger],
        }
        told = self._fetch("/_dash-update-component", body)
        answer: JSON = told["response"]
        for component, props in told.get("sideUpdate", {}).items():
            answer[component] = answer.get(component, {}) | props
        self.trouble = answer.get("trouble", {}).get("data", {}).get("text")
        return answer

    def _request(self, path: str, **fields: Any) -> JSON:
        """One of the page's own requests, with the state of the page."""
        state = {"update": self._props.get("head.data"), "window": self._props.get("transcript-window.data")}
        answer = self._fetch(path, {"pathname": self._address, **state, **fields})
        self.trouble = answer.get("trouble", {}).get("data", {}).get("text")
        return answer

    def _fetch(self, path: str, body: JSON) -> JSON:
        try:
            response = self._http.post(path, json=body)
        except httpx.HTTPError as error:
            raise NotAnswered from error
        if response.status_code != 200:
            raise NotAnswered(response.status_code, response.text)
        answer: JSON = response.json()
        return answer

    @property
    def _address(self) -> str:
        return f"/t/{self.thread}" if self.thread else "/"

    def _valued(self, part: JSON) -> JSON:
        name = f"{part['id']}.{part['property']}"
        return {**part, "value": self._address if name == "url.pathname" else self._props.get(name)}
