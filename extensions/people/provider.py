"""A provider of OpenID Connect. It signs people in by a code with PKCE and a signed token. Only this module uses authlib."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.starlette_client import OAuth
from joserfc.errors import ClaimError, JoseError
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from starlette.requests import Request

from agent.certificates import load_certificates
from extensions.people.provider_claims import Claims
from extensions.people.sign_in_errors import OUTDATED, REPORTED, UNVERIFIED, SignInError, UnreachableError

# One request of a browser waits at most this many seconds for all requests to the provider.
MAX_SECONDS = 10.0
MAX_AGE_SECONDS = 3600
MAX_REPLY_BYTES = 300_000
LEEWAY_SECONDS = 30
DISCOVERY_PATH = "/.well-known/openid-configuration"
ALGORITHMS = tuple(f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512))


def _check_address(address: str) -> str:
    """Refuse an address without TLS, except on this machine, where people try things out."""
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise ValueError
    return address


def _choose_algorithms(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in ALGORITHMS if each in names) or ALGORITHMS


Address = Annotated[str, AfterValidator(_check_address)]


class Metadata(BaseModel):
    """A provider's own metadata (OpenID Connect Discovery), as far as it is used."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    issuer: str
    authorization_endpoint: Address
    token_endpoint: Address
    jwks_uri: Address
    userinfo_endpoint: Address | None = None
    end_session_endpoint: Address | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: Annotated[tuple[str, ...], AfterValidator(_choose_algorithms)] = ("RS256",)
    authorization_response_iss_parameter_supported: bool = False


def parse_metadata(found: Any, issuer: str) -> Metadata:
    """Return the metadata of this issuer. Raises `UnreachableError` if it is another issuer's or invalid."""
    try:
        metadata = Metadata.model_validate(found)
    except ValidationError as error:
        fields = ", ".join(sorted({str(each["loc"][0]) for each in error.errors() if each["loc"]}))
        raise UnreachableError(f"the provider's description is no description, or its {fields} cannot be used") from None
    if metadata.issuer != issuer:
        raise UnreachableError(f"the provider calls itself {metadata.issuer[:200]!r}, and OIDC_ISSUER is another")
    return metadata


@dataclass(frozen=True)
class Client:
    """Waymark's registration at the provider. Without a secret it is a public client.

    The provider's userinfo is requested if its token lacks any of the `wanted_claims`.
    """

    id: str
    secret: str
    redirect_uri: str
    scopes: str
    wanted_claims: Sequence[str] = ()


class Provider:
    """A provider by its issuer. All errors are `SignInError`s."""

    def __init__(self, issuer: str, client: Client, read_clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer = issuer
        self._client = client
        self._read_clock = read_clock
        self._lock = asyncio.Lock()
        self._app: Any = None
        self._ends_at = 0.0

    async def begin(self, request: Request) -> str:
        """Return the address where the browser signs in. The request's session identifies the browser later."""
        async with self._explain_failures():
            app = await self._open()
            found = await app.create_authorization_url(self._client.redirect_uri)
            address = str(found.pop("url"))
            await app.save_authorize_data(request, redirect_uri=self._client.redirect_uri, **found)
        return address

    async def identify(self, request: Request) -> Claims:
        """Exchange the code of a returning browser for the claims about the person who signed in."""
        async with self._explain_failures():
            app = await self._open()
            self._check_sender(request.query_params.get("iss"), app.server_metadata)
            auth, options = self._choose_auth(app.server_metadata), self._list_claims()
            token = await app.authorize_access_token(request, auth=auth, claims_options=options, leeway=LEEWAY_SECONDS)
            claims = dict(token["userinfo"])
            is_whole = all(name in claims for name in self._client.wanted_claims)
            if is_whole or not app.server_metadata["userinfo_endpoint"]:
                return claims
            more = await app.userinfo(token=token)
        if more.get("sub") != claims["sub"]:
            raise SignInError(UNVERIFIED, "the provider described somebody else than its token")
        return {**more, **claims}

    async def build_end_address(self, next_address: str) -> str | None:
        """Return the address where the provider signs the browser out; None if it has none."""
        async with self._explain_failures():
            app = await self._open()
            if not app.server_metadata["end_session_endpoint"]:
                return None
            found = await app.create_logout_url(next_address, client_id=self._client.id)
        return str(found["url"])

    @asynccontextmanager
    async def _explain_failures(self) -> AsyncIterator[None]:
        """Turn errors at the provider, and on the way to it, into a `SignInError`."""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                yield
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise UnreachableError(f"the provider cannot be reached: {type(error).__name__}") from None
        except AuthlibBaseError as error:
            text = OUTDATED if error.error in ("invalid_grant", "mismatching_state", "missing_code") else REPORTED
            raise SignInError(text, f"the provider refused the code: {str(error.error)[:80]!r}") from None
        except JoseError as error:
            # The keys may have been replaced under their former names, so the next sign-in reads them again.
            self._ends_at = 0.0
            claim = error.claim if isinstance(error, ClaimError) else ""
            raise SignInError(UNVERIFIED, f"the token is not valid: {error.error} {claim}".strip()) from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UnreachableError(f"the provider's answer cannot be read: {type(error).__name__}") from None

    async def _open(self) -> Any:
        """Return authlib's client with the provider's keys. It is renewed each hour."""
        async with self._lock:
            if self._app is None or self._ends_at <= self._read_clock():
                async with httpx2.AsyncClient(**_build_limits()) as client:
                    reply = await client.get(self.issuer.rstrip("/") + DISCOVERY_PATH)
                    found = reply.raise_for_status().json()
                self._app = self._register(parse_metadata(found, self.issuer))
                self._ends_at = self._read_clock() + MAX_AGE_SECONDS
            return self._app

    def _register(self, metadata: Metadata) -> Any:
        wanted = {
            "scope": self._client.scopes,
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_post" if self._client.secret else "none",
            # Access tokens that live for less than a minute are accepted as well.
            "leeway": 0,
        }
        return OAuth().register(
            "provider",
            client_id=self._client.id,
            client_secret=self._client.secret or None,
            client_kwargs=wanted | _build_limits(),
            **metadata.model_dump(),
        )

    def _choose_auth(self, metadata: dict[str, Any]) -> httpx2.BasicAuth | None:
        """Return the token request's header with the encoded id and secret (RFC 6749, 2.3.1); None for its form."""
        if not self._client.secret or "client_secret_basic" not in metadata["token_endpoint_auth_methods_supported"]:
            return None
        return httpx2.BasicAuth(quote(self._client.id, safe=""), quote(self._client.secret, safe=""))

    def _check_sender(self, issuer: str | None, metadata: dict[str, Any]) -> None:
        """Refuse an answer from another provider, or without a name if this provider always gives it (RFC 9207)."""
        if issuer != self.issuer and (issuer is not None or metadata["authorization_response_iss_parameter_supported"]):
            raise SignInError(UNVERIFIED, "the answer is of another provider, or does not say of which")

    def _list_claims(self) -> dict[str, dict[str, Any]]:
        return {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self._client.id},
            "sub": {"essential": True},
        }


def _build_limits() -> dict[str, Any]:
    """Return the arguments of a client without redirects: a provider's metadata names all its addresses."""
    return {
        # A compressed reply could expand to any size.
        "headers": {"Accept-Encoding": "identity"},
        "timeout": MAX_SECONDS,
        "verify": load_certificates(),
        "follow_redirects": False,
        "event_hooks": {"response": [_limit_reply]},
    }


async def _limit_reply(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreachableError("the provider packed its answer, without being asked")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _LimitedStream(response.stream)


class _LimitedStream(httpx2.AsyncByteStream):
    """A body that fails once it grows too large."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_REPLY_BYTES:
                raise UnreachableError(f"the provider answered with more than {MAX_REPLY_BYTES:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
