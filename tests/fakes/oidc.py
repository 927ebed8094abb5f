"""A provider of OpenID Connect at the wire. It checks what a client sends, and lies where a test wants it to."""

import base64
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from functools import cache
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.app_process import PATIENCE
from tests.fakes.server import ThreadedServer

JSON = dict[str, Any]
Key = RSAKey | ECKey
CLIENT, SECRET = "waymark/of:a team", "a-secret+of:letters&signs%20~/"
DISCOVERY = "/.well-known/openid-configuration"


@cache
def make_key(name: str) -> Key:
    """Return one key for each name: making one takes a while."""
    return ECKey.generate_key("P-256", {"kid": name, "use": "sig", "alg": "ES256"})


@cache
def make_rsa_key(name: str) -> Key:
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"})


class FakeProvider:
    """Starts on construction. `requests` are the paths that were asked for; `violations` what a client did wrong.

    The tests are its people: `authorize` is somebody who signs in.
    """

    def __init__(self, **metadata: Any) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.issuer = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.secret = SECRET
        self.keys: list[Key] = [make_rsa_key("first")]
        self.metadata: JSON = self._describe() | metadata
        self.claims: JSON = {}  # of the next tokens; a value of None leaves a claim out
        self.userinfo: JSON = {}
        self.sign: Callable[[JSON], str] = self.sign_as_told
        self.answers: dict[str, Callable[[Request], Awaitable[Response]]] = {}  # by path, in place of the right ones
        self.requests: list[str] = []
        self.violations: list[str] = []
        self._codes: dict[str, JSON] = {}
        routes = [Route(path, self._answer, methods=["GET", "POST"]) for path in (DISCOVERY, "/keys", "/token", "/userinfo")]
        self._server = ThreadedServer(
            uvicorn.Config(Starlette(routes=routes), loop="asyncio", ws="none", lifespan="off", log_config=None)
        )
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()
        assert self._server.ready.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        assert kind or not self.violations, self.violations

    def stop(self) -> None:
        """Leave the port. Idempotent."""
        if self._thread.is_alive():
            self._server.call(self._server.leave.set)
            self._thread.join(PATIENCE)

    def authorize(self, address: str, *, sub: str = "1", **claims: Any) -> str:
        """Sign somebody in who was sent here with an address, and return the path and query to which they are sent back."""
        parts = urlsplit(address)
        given = {name: value for name, [value] in parse_qs(parts.query, strict_parsing=True).items()}
        wanted = {"response_type": "code", "client_id": CLIENT, "code_challenge_method": "S256"}
        for name, value in wanted.items():
            self._require(given.get(name) == value, f"{name} of an address")
        self._require("openid" in given["scope"].split() and len(given["state"]) >= 30, "scope and state")
        code = secrets.token_urlsafe(16)
        self._codes[code] = {**given, "claims": {"sub": sub, **claims}}
        answer = {"code": code, "state": given["state"]}
        if self.metadata.get("authorization_response_iss_parameter_supported"):
            answer["iss"] = self.issuer
        return f"{urlsplit(given['redirect_uri']).path}?{urlencode(answer)}"

    def sign_as_told(self, claims: JSON) -> str:
        return jwt.encode({"alg": self.keys[-1].get("alg"), "kid": self.keys[-1].kid}, claims, self.keys[-1])

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        self.requests.append(path)
        if other := self.answers.get(path):
            return await other(request)
        if path == DISCOVERY:
            return JSONResponse(self.metadata)
        if path == "/keys":
            return JSONResponse(KeySet(list(self.keys)).as_dict())
        if path == "/userinfo":
            self._require(request.headers.get("authorization") == "Bearer the access token", "the bearer of userinfo")
            return JSONResponse(self.userinfo)
        fields = {name: value for name, [value] in parse_qs((await request.body()).decode()).items()}
        return self._swap_code(request, fields)

    def _swap_code(self, request: Request, fields: JSON) -> Response:
        known = self._codes.pop(fields.get("code", ""), None)
        if known is None:
            return JSONResponse({"error": "invalid_grant"}, 400)
        self._require(_read_client(request, fields) == (CLIENT, self.secret), "the client")
        self._require(fields.get("grant_type") == "authorization_code", "the grant")
        self._require(fields.get("redirect_uri") == known["redirect_uri"], "the redirect URI")
        digest = hashlib.sha256(fields.get("code_verifier", "").encode()).digest()
        self._require(_encode(digest) == known["code_challenge"], "the verifier")
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": known["nonce"]}
        claims |= known["claims"] | self.claims
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        answer = {"access_token": "the access token", "token_type": "Bearer", "expires_in": 30, "id_token": token}
        return JSONResponse(answer)

    def _require(self, is_right: bool, what: str) -> None:
        if not is_right:
            self.violations.append(what)

    def _describe(self) -> JSON:
        paths = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        paths |= {"userinfo_endpoint": "/userinfo", "end_session_endpoint": "/leave?theme=dark"}
        return {
            "issuer": self.issuer,
            **{name: self.issuer + path for name, path in paths.items()},
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "HS256", "none"],
        }


async def hang(request: Request) -> Response:
    """Answer when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response()


def reply_with(content: bytes, status: int = 200, **headers: str) -> Callable[[Request], Awaitable[Response]]:
    async def reply(_request: Request) -> Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return Response(content, status, {"content-type": "application/json", **given})

    return reply


def _read_client(request: Request, fields: JSON) -> tuple[str, str]:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind != "Basic":
        return fields.get("client_id", ""), fields.get("client_secret", "")
    name, _, secret = base64.b64decode(value).decode().partition(":")
    return unquote(name), unquote(secret)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
