"""Static files from memory: compressed once, with an ETag. The guard adds the other headers."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ASSETS_PREFIX = "/assets/"
LIBRARIES_PREFIX = "/_dash-component-suites/"
# Every other answer has this header, so an open page learns that it is older than the server.
VERSION_HEADER = b"waymark-page"
# Dash takes any version in an address, so the number of addresses is unlimited.
MAX_KEPT_LIBRARIES = 64


@dataclass(frozen=True)
class StaticFile:
    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def build(cls, content: bytes, media_type: str) -> StaticFile:
        return cls(content, gzip.compress(content, 6, mtime=0), media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')

    def respond(self, request: Headers) -> Response:
        headers = {"ETag": self.etag, "Vary": "Accept-Encoding"}
        if request.get("if-none-match") == self.etag:
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        if "gzip" not in request.get("accept-encoding", "") or self.media_type.startswith("font/"):
            # Fonts are compressed already.
            return Response(self.content, headers=headers, media_type=self.media_type)
        return Response(self.compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type=self.media_type)


@dataclass(frozen=True)
class PageFiles:
    """The page's own files by their paths. A hash of all contents is part of every address.

    The hash is shared because the files name each other: the modules name the icons, and the style sheet the fonts.
    """

    version: str
    files: Mapping[str, StaticFile]
    # These files are built when they are first requested.
    late: Mapping[str, Callable[[], StaticFile]] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The beginning of every address, without a slash at the end."""
        return f"{ASSETS_PREFIX}{self.version}"

    def find_file(self, address: str) -> StaticFile | None:
        """Return the file of an address of any version, because a page older than the server loads its fonts late."""
        _, _, path = address.removeprefix(ASSETS_PREFIX).partition("/")
        found = self.files.get(path)
        return self.late[path]() if found is None and path in self.late else found


def serve_static_files(app: ASGIApp, page_files: PageFiles) -> ASGIApp:
    """Serve the page's own files, and keep the files of Dash's libraries after their first request.

    All other answers name the version of the page.
    """
    libraries: dict[str, StaticFile] = {}

    async def answer_library(scope: Scope, receive: Receive) -> Response:
        path = scope["path"]
        if path not in libraries:
            response = await _read_response(app, scope, receive)
            if response.status_code != HTTPStatus.OK:
                return response
            built = StaticFile.build(bytes(response.body), response.headers["content-type"])
            if len(libraries) >= MAX_KEPT_LIBRARIES:
                return built.respond(Headers(scope=scope))
            libraries[path] = built
        return libraries[path].respond(Headers(scope=scope))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif scope["path"].startswith(LIBRARIES_PREFIX):
            await (await answer_library(scope, receive))(scope, receive, send)
        elif scope["path"].startswith(ASSETS_PREFIX):
            found = page_files.find_file(scope["path"])
            response = found.respond(Headers(scope=scope)) if found else PlainTextResponse("Not Found\n", 404)
            await response(scope, receive, send)
        else:
            await app(scope, receive, partial(_send_with_header, send, (VERSION_HEADER, page_files.version.encode())))

    return serve


async def _send_with_header(send: Send, header: tuple[bytes, bytes], message: Message) -> None:
    if message["type"] == "http.response.start":
        message = {**message, "headers": [*message.get("headers", ()), header]}
    await send(message)


async def _read_response(app: ASGIApp, scope: Scope, receive: Receive) -> Response:
    """Return the whole response to a request without conditions."""
    response = Response()
    body = bytearray()

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code, response.raw_headers = message["status"], message["headers"]
        else:
            body.extend(message.get("body", b""))

    await app({**scope, "method": "GET", "headers": []}, receive, collect)
    response.body = bytes(body)
    return response
