"""Burdens of a server: clients that ask for much, or do harm, until the block ends."""

import contextlib
import itertools
import json
import os
import random
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.faults.page import NotAnswered, PageClient

TABS = 4
UNREAD_SOCKETS = 1_000
SLOW_CONNECTIONS = 400
UNREAD_FILES = 8  # that each of as many connections asks for and does not read
POSTS = 100  # a second
RESULT_MEGABYTES = 50
LARGE_FILES = 12
OBJECT_FILES = 30
TALKS = 6
TALK_MESSAGES = 6_400
ENDING_SECONDS = 90.0
MALFORMED = (
    b"{",
    b"[]",
    b'{"output": 7}',
    b'{"output": "..a.b..", "inputs": 3}',
    b"\xff\xfe",
    b'{"inputs": [{"id": null}]}',
)


@dataclass
class Scene:
    """The server under a burden. `threads` are the conversations that stream, and `viewed` is one that was imported."""

    browser: PageClient
    threads: Sequence[str]
    viewed: str | None = None
    unread: Sequence[str | None] = ()  # conversations that no request has read yet
    ended: threading.Event = field(default_factory=threading.Event)
    times: int = 0  # how often the burden was complete
    errors: list[str] = field(default_factory=list)

    def open_tab(self, thread: str | None = None) -> PageClient:
        tab = self.browser.tab()
        tab.thread = thread
        return tab


@dataclass(frozen=True)
class Burden:
    """Work that goes on until the scene has ended. Its documents are imported before."""

    work: Callable[[Scene], None]
    document: str = ""
    talks: Sequence[bytes] = ()

    def prepare(self, scene: Scene) -> None:
        if self.document:
            scene.viewed = _import(scene, self.document.encode())
        scene.unread = [_import(scene, talk) for talk in self.talks]


def _import(scene: Scene, content: bytes) -> str | None:
    tab = scene.open_tab()
    tab.import_file(content)
    return tab.thread


@contextmanager
def under(burden: Burden, scene: Scene) -> Iterator[None]:
    """Burden the server during the block."""
    thread = threading.Thread(target=_run_burden, args=[burden, scene], daemon=True)
    thread.start()
    try:
        yield
    finally:
        scene.ended.set()
        thread.join(ENDING_SECONDS)


def _run_burden(burden: Burden, scene: Scene) -> None:
    try:
        burden.work(scene)
    except (NotAnswered, AssertionError, OSError, httpx.HTTPError) as error:  # reported beside the figures
        scene.errors.append(f"{type(error).__name__} {str(error)[:200]}")


def do_nothing(scene: Scene) -> None:
    scene.ended.wait()


def import_files(files: Sequence[bytes]) -> Callable[[Scene], None]:
    """Import one file after the other. They are written before: the hash of one takes a processor for a second."""

    def work(scene: Scene) -> None:
        for content in itertools.cycle(files):
            if scene.ended.is_set():
                return
            scene.open_tab().import_file(content)
            scene.times += 1

    return work


def ask_for_the_first_time(scene: Scene) -> None:
    """Ask in each conversation that no request has read yet."""
    for thread in scene.unread:
        if scene.ended.is_set():
            return
        tab = scene.open_tab(thread)
        tab.send("tokens: 1")
        tab.rest()
        scene.times += 1
    scene.ended.wait()


def call_flooding_tool(scene: Scene) -> None:
    """Call a tool whose result is one line of 50 MB."""
    while not scene.ended.is_set():
        scene.open_tab().say("call: big__flood " + json.dumps({"megabytes": RESULT_MEGABYTES}))
        scene.times += 1


def view_in_tabs(scene: Scene) -> None:
    """Load the imported conversation again and again in four tabs."""

    def load_again() -> None:
        tab = scene.open_tab(scene.viewed)
        while not scene.ended.is_set():
            with contextlib.suppress(NotAnswered):
                tab.look()
                scene.times += 1

    _run_together([load_again] * TABS)


def hold_unread_sockets(scene: Scene) -> None:
    """Open a thousand sockets that follow the streaming conversations and read nothing of them."""
    host, port = _address(scene)
    with contextlib.ExitStack() as held:
        for number in range(UNREAD_SOCKETS):
            if scene.ended.is_set():
                return
            opened = held.enter_context(socket.socket())
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            opened.connect((host, port))
            thread = scene.threads[number % len(scene.threads)]
            head = [
                f"GET /api/threads/{thread}/events HTTP/1.1",
                f"Host: {host}:{port}",
                f"Origin: {scene.browser.origin}",
                f"Cookie: {scene.browser.cookie}",
                f"Sec-WebSocket-Protocol: waymark, {scene.browser.page_key}",
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            ]
            opened.sendall("\r\n".join([*head, "", ""]).encode())
            scene.times += 1
        scene.ended.wait()


def hold_slow_connections(scene: Scene) -> None:
    """Keep four hundred connections that send a byte of a header each second, and replace those that are closed."""
    address = _address(scene)
    connections: list[socket.socket] = []
    while not scene.ended.wait(1.0):
        for each in connections[:]:
            try:
                each.send(b"X")
            except OSError:
                each.close()
                connections.remove(each)
        while len(connections) < SLOW_CONNECTIONS:
            opened = socket.create_connection(address, timeout=5)
            opened.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
            connections.append(opened)
            scene.times += 1
    for each in connections:
        each.close()


def hold_unread_files(scene: Scene) -> None:
    """Keep four hundred connections that ask for the page's script and read nothing, and replace those that are dropped."""
    host, port = _address(scene)
    found = re.search(r'src="(/[^"]+/waymark\.mjs)"', scene.browser.get("/").text)
    assert found is not None
    head = [f"GET {found[1]} HTTP/1.1", f"Host: {host}:{port}", f"Cookie: {scene.browser.cookie}"]
    asked = "\r\n".join([*head, "", ""]).encode() * UNREAD_FILES
    connections: list[socket.socket] = []
    while not scene.ended.wait(1.0):
        connections = [each for each in connections if not _is_dropped(each)]
        while len(connections) < SLOW_CONNECTIONS:
            connections.append(_ask_without_reading((host, port), asked))
            scene.times += 1
    for each in connections:
        each.close()


def _ask_without_reading(address: tuple[str, int], asked: bytes) -> socket.socket:
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    opened.connect(address)
    opened.sendall(asked)
    return opened


def _is_dropped(connection: socket.socket) -> bool:
    """Return whether the server has ended the connection, and close it then."""
    errors = select.poll()
    errors.register(connection, 0)
    if not errors.poll(0):
        return False
    connection.close()
    return True


def post_malformed_bodies(scene: Scene) -> None:
    """Send a hundred bodies a second that no page sends."""
    chance, start = random.Random(7), time.perf_counter()
    signed_in = {"cookie": scene.browser.cookie, "x-waymark-page-key": scene.browser.page_key or ""}
    headers = {"origin": scene.browser.origin, **signed_in, "content-type": "application/json"}
    with httpx.Client(base_url=scene.browser.origin, headers=headers, timeout=60) as client:

        def post() -> None:
            while not scene.ended.is_set():
                body = chance.choice((*MALFORMED, os.urandom(200)))
                client.post("/_dash-update-component", content=body)
                scene.times += 1
                time.sleep(max(0.0, start + scene.times / POSTS - time.perf_counter()))

        _run_together([post] * 4)


def _address(scene: Scene) -> tuple[str, int]:
    host, _, port = scene.browser.origin.removeprefix("http://").partition(":")
    return host, int(port)


def _run_together(works: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
