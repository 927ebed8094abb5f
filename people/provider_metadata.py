"""A provider's metadata: its addresses and supported methods, as far as they are used."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from people.sign_in_errors import UnreachableError

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
