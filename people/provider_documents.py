"""The documents in which a provider describes itself: its addresses, and the keys of its signatures. Both are kept."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from people.sign_in_errors import UnreachableError

MAX_AGE_SECONDS = 3600
DISCOVERY_PATH = "/.well-known/openid-configuration"
T = TypeVar("T")
Fetch = Callable[[str], Awaitable[Any]]


def check_address(address: str) -> str:
    """Refuse an address without TLS, but on this machine, for trying things out."""
    parts = urlsplit(address)
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))):
        raise ValueError
    return address


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


Address = Annotated[str, AfterValidator(check_address)]


class Metadata(BaseModel):
    """A provider's own description (OpenID Connect Discovery), as far as it is used."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    issuer: str
    authorization_endpoint: Address
    token_endpoint: Address
    jwks_uri: Address
    userinfo_endpoint: Address | None = None
    end_session_endpoint: Address | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)
    authorization_response_iss_parameter_supported: bool = False


@dataclass(frozen=True)
class _Kept(Generic[T]):
    value: T
    until: float


class ProviderDocuments:
    """Reads the documents with `fetch`, which limits their size and time. Sign-ins at once read each of them once."""

    def __init__(self, issuer: str, fetch: Fetch, read_clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._fetch = fetch
        self._read_clock = read_clock
        self._lock = asyncio.Lock()
        self._metadata: _Kept[Metadata] | None = None
        self._keys: _Kept[KeySet] | None = None

    async def read_metadata(self) -> Metadata:
        """Raises `UnreachableError`."""
        async with self._lock:
            if self._metadata is None or self._metadata.until <= self._read_clock():
                found = await self._fetch(self._issuer.rstrip("/") + DISCOVERY_PATH)
                self._metadata = self._keep(self._parse_metadata(found))
            return self._metadata.value

    async def read_keys(self, other_than: KeySet | None = None) -> KeySet:
        """Return the keys, read again if those at hand do not fit a signature. Raises `UnreachableError`."""
        address = (await self.read_metadata()).jwks_uri
        async with self._lock:
            if self._keys is None or self._keys.until <= self._read_clock() or self._keys.value is other_than:
                self._keys = self._keep(_parse_keys(await self._fetch(address)))
            return self._keys.value

    def _parse_metadata(self, found: Any) -> Metadata:
        try:
            metadata = Metadata.model_validate(found)
        except ValidationError as error:
            fields = ", ".join(sorted({str(each["loc"][0]) for each in error.errors() if each["loc"]}))
            raise UnreachableError(f"the provider's description is no description, or its {fields} cannot be used") from None
        if metadata.issuer != self._issuer:
            raise UnreachableError(f"the provider calls itself {metadata.issuer[:200]!r}, and OIDC_ISSUER is another")
        return metadata

    def _keep(self, value: T) -> _Kept[T]:
        return _Kept(value, self._read_clock() + MAX_AGE_SECONDS)


def _parse_keys(found: Any) -> KeySet:
    try:
        return KeySet.import_key_set(found)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        raise UnreachableError("the provider's keys cannot be read") from None
