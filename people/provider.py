"""The only user of authlib: a provider of OpenID Connect signs people in by a code with PKCE and a signed token."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import BadSignatureError, ClaimError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from agent.certificates import load_certificates
from people.authentication_request import AuthenticationRequest
from people.provider_claims import Claims
from people.provider_documents import Metadata, ProviderDocuments
from people.sign_in_errors import OUTDATED, REPORTED, UNVERIFIED, SignInError, UnreachableError

MAX_SECONDS = 10.0  # of all requests to the provider that one request of a browser waits for
MAX_REPLY_BYTES = 300_000
LEEWAY_SECONDS = 30
ALGORITHMS = frozenset(f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512))


@dataclass(frozen=True)
class Client:
    """Waymark, as the provider knows it. Without a secret it is a public client."""

    id: str
    secret: str
    redirect_uri: str
    scopes: str
    wanted_claims: Sequence[str] = ()  # that the provider is asked for if its token lacks any of them


class Provider:
    """A provider by its issuer. All errors are `SignInError`s."""

    def __init__(self, issuer: str, client: Client) -> None:
        self.issuer = issuer
        self._client = client
        self._documents = ProviderDocuments(issuer, self._fetch)

    async def build_address(self, request: AuthenticationRequest) -> str:
        """Return the address at which the browser signs in."""
        async with _limit_time():
            metadata = await self._documents.read_metadata()
            address, _state = self._open_client().create_authorization_url(
                metadata.authorization_endpoint,
                state=request.state,
                nonce=request.nonce,
                code_verifier=request.verifier,
            )
        return str(address)

    async def check_sender(self, issuer: str | None) -> None:
        """Refuse an answer that names another provider, or names none where this one always does (RFC 9207)."""
        async with _limit_time():
            metadata = await self._documents.read_metadata()
        if issuer != self.issuer and (issuer is not None or metadata.authorization_response_iss_parameter_supported):
            raise SignInError(UNVERIFIED, "the answer is of another provider, or does not say of which")

    async def identify(self, code: str, request: AuthenticationRequest) -> Claims:
        """Swap a code for the claims about the person who signed in."""
        async with _limit_time():
            metadata = await self._documents.read_metadata()
            token = await self._fetch_token(metadata, code, request)
            claims = await self._verify(token, metadata, request)
            is_whole = all(name in claims for name in self._client.wanted_claims)
            if not is_whole and metadata.userinfo_endpoint:
                return await self._complete(claims, metadata.userinfo_endpoint, str(token.get("access_token", "")))
        return claims

    async def build_end_address(self, next_address: str) -> str | None:
        """Return the address at which the provider signs the browser out; None if it has none."""
        async with _limit_time():
            metadata = await self._documents.read_metadata()
        if metadata.end_session_endpoint is None:
            return None
        fields = {"client_id": self._client.id, "post_logout_redirect_uri": next_address}
        return f"{metadata.end_session_endpoint}{'&' if '?' in metadata.end_session_endpoint else '?'}{urlencode(fields)}"

    async def _fetch_token(self, metadata: Metadata, code: str, request: AuthenticationRequest) -> dict[str, Any]:
        try:
            async with self._open_client(metadata) as client:
                token: dict[str, Any] = await client.fetch_token(
                    metadata.token_endpoint, grant_type="authorization_code", code=code, code_verifier=request.verifier
                )
        except OAuthError as error:
            text = OUTDATED if error.error == "invalid_grant" else REPORTED
            raise SignInError(text, f"the provider refused the code: {str(error.error)[:80]!r}") from None
        except (ValueError, TypeError, RecursionError):
            raise UnreachableError("the provider answered the code with something else than a token") from None
        return token

    async def _verify(self, token: dict[str, Any], metadata: Metadata, request: AuthenticationRequest) -> Claims:
        """Return the claims of the signed token. The keys are read again if none fits: providers replace them."""
        keys = await self._documents.read_keys()
        try:
            try:
                return self._read_claims(token, keys, metadata, request)
            except (InvalidKeyIdError, BadSignatureError):
                newer = await self._documents.read_keys(other_than=keys)
                return self._read_claims(token, newer, metadata, request)
        except JoseError as error:
            claim = error.claim if isinstance(error, ClaimError) else ""
            raise SignInError(UNVERIFIED, f"the token is not valid: {error.error} {claim}".strip()) from None
        except (ValueError, TypeError, RecursionError):
            raise SignInError(UNVERIFIED, "the token is no token") from None

    def _read_claims(
        self, token: dict[str, Any], keys: KeySet, metadata: Metadata, request: AuthenticationRequest
    ) -> Claims:
        algorithms = ALGORITHMS.intersection(metadata.id_token_signing_alg_values_supported)
        registry = JWSRegistry(algorithms=algorithms or ALGORITHMS, strict_check_header=False)
        found = jwt.decode(str(token.get("id_token", "")), keys, registry=registry)
        options = {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self._client.id},
            **{name: {"essential": True} for name in ("sub", "exp", "iat")},
        }
        params = {"nonce": request.nonce, "client_id": self._client.id, "access_token": token.get("access_token")}
        claims = CodeIDToken(found.claims, found.header, options, params)
        claims.validate(leeway=LEEWAY_SECONDS)
        return dict(claims)

    async def _complete(self, claims: Claims, address: str, access_token: str) -> Claims:
        """Add what the provider tells to the bearer of the token, about the same person. The token itself wins."""
        more = await self._fetch(address, {"Authorization": f"Bearer {access_token}"})
        if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
            raise SignInError(UNVERIFIED, "the provider described somebody else than its token")
        return {**more, **claims}

    async def _fetch(self, address: str, headers: dict[str, str] | None = None) -> Any:
        async with self._open_client() as client:
            try:
                reply = await client.request("GET", address, headers=headers, withhold_token=True)
                reply.raise_for_status()
                return reply.json()
            except (ValueError, RecursionError):
                raise UnreachableError("the provider answered with something else than JSON") from None

    def _open_client(self, metadata: Metadata | None = None) -> Any:
        """Open a client that follows no redirect: a provider's description names all its addresses."""
        method, secret = "none", self._client.secret
        if secret and metadata and "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            method, secret = "client_secret_basic", quote(secret, safe="")
        elif secret:
            method = "client_secret_post"
        return AsyncOAuth2Client(
            quote(self._client.id, safe="") if method == "client_secret_basic" else self._client.id,
            secret or None,
            token_endpoint_auth_method=method,
            scope=self._client.scopes,
            redirect_uri=self._client.redirect_uri,
            code_challenge_method="S256",
            headers={"Accept-Encoding": "identity"},  # a packed reply may be of any size
            timeout=MAX_SECONDS,
            verify=load_certificates(),
            follow_redirects=False,
            event_hooks={"response": [_limit_reply]},
        )


@asynccontextmanager
async def _limit_time() -> AsyncIterator[None]:
    """Turn what may go wrong on the way to the provider into an `UnreachableError`."""
    try:
        async with asyncio.timeout(MAX_SECONDS):
            yield
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UnreachableError(f"the provider cannot be reached: {type(error).__name__}") from None


async def _limit_reply(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreachableError("the provider packed its answer, without being asked")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _LimitedStream(response.stream)


class _LimitedStream(httpx2.AsyncByteStream):
    """A body that ends with an error where it is too large."""

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
