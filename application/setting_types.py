"""The types of settings: the allowed values, and the named tables of `waymark.toml`."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
)

from agent.models.parameters import (
    REASONING_EFFORTS,
    ReasoningEffort,
    check_extra_body,
    write_extra_body,
)
from server.addresses import PREFIX_RULE, check_prefix


def _check_key(value: SecretStr | None) -> SecretStr | None:
    """Refuse characters forbidden in a header: the error of the HTTP client would show the key."""
    if value and not all("!" <= character <= "~" for character in value.get_secret_value()):
        raise ValueError
    return value


def check_header(value: SecretStr) -> SecretStr:
    if not all(" " <= character <= "~" for character in value.get_secret_value()):
        raise ValueError
    return value


def _check_environment(value: str | None) -> str | None:
    """Refuse names of environments that Langfuse refuses."""
    if value is not None and not re.fullmatch(r"(?!langfuse)[a-z0-9_-]{1,40}", value):
        raise ValueError
    return value


def _resolve_folder(path: Path | None) -> Path | None:
    if path is not None and not path.expanduser().is_dir():
        raise ValueError
    return path and path.expanduser().resolve()


_DATABASE_URL = re.compile(r"sqlite:///.*[^/.]|postgresql\+psycopg://[^\s/]*/[^\s/?]+(\?\S+)?")


def _check_database_url(value: SecretStr | None) -> SecretStr | None:
    """Refuse anything but a file of SQLite or a database of PostgreSQL. It is a secret, because it contains the password."""
    if value and not _DATABASE_URL.fullmatch(value.get_secret_value()):
        raise ValueError
    return value


def _split_list(value: Any) -> Any:
    """Split a text at its commas: an environment has no lists."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _split_headers(value: Any) -> Any:
    return dict(each.partition("=")[::2] for each in _split_list(value)) if isinstance(value, str) else value


def _check_headers(headers: dict[str, SecretStr] | None) -> dict[str, SecretStr] | None:
    for name, value in (headers or {}).items():
        if not re.fullmatch(r"[A-Za-z0-9-]+", name) or not re.fullmatch(r"[!-~]([ -~]*[!-~])?", value.get_secret_value()):
            raise ValueError
    return headers


def _write_json(value: Any) -> Any:
    """Return a JSON object as text: an environment has no tables."""
    if isinstance(value, str):
        return check_extra_body(value)
    return None if value is None else write_extra_body(value)


def refuse_bool(value: Any) -> Any:
    """Refuse TOML's true and false: Pydantic would take them for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError
    return value


def _check_host(value: str) -> str:
    if value != "localhost":
        ip_address(value)
    return value


def _parse_networks(value: Any) -> Any:
    """Parse networks. None of them may contain every address."""
    networks = None if value is None else tuple(ip_network(each) for each in _split_list(value))
    if not all(each.prefixlen for each in networks or ()):
        raise ValueError
    return networks


def _clean_origin(value: str | None) -> str | None:
    """Return an address in the form of a browser's origin."""
    origin = value and value.rstrip("/").lower()
    return origin and re.sub("(?<=^https://)(.*):443$|(?<=^http://)(.*):80$", r"\1\2", origin)


def _check_scopes(value: str) -> str:
    if "openid" not in value.split() or not value.isascii() or not value.isprintable():
        raise ValueError
    return value


def _check_issuer(value: str) -> str:
    """Refuse an address without TLS, except on this machine, and parts that an issuer cannot have."""
    parts = urlsplit(value)
    if not all("!" <= character <= "~" for character in value):
        raise ValueError
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    is_plain = parts.hostname and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not is_plain or not (is_local or parts.scheme == "https"):
        raise ValueError
    return value


def _check_secret(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value()
    if len(secret) < MIN_SECRET_CHARS or not all("!" <= character <= "~" for character in secret):
        raise ValueError
    return value


Network = IPv4Network | IPv6Network
Key = Annotated[
    SecretStr | None, AfterValidator(_check_key), Field(description="an API key: letters, digits and signs, without spaces")
]
Address = Annotated[
    str | None, Field(pattern=r"^https?://[^\s/]+", description="an address that begins with http:// or https://")
]
Count = Annotated[int, Field(ge=1, le=100_000, description="a whole number from 1 to 100,000")]
_PORT = Field(ge=0, le=65535, description="a whole number from 0 (any free port) to 65535")
Port = Annotated[int, _PORT]
PortOrNone = Annotated[int | None, _PORT]
Seconds = Annotated[float, Field(gt=0, le=604_800, description="a number of seconds above 0 and up to 604,800")]
Effort = Annotated[ReasoningEffort | None, Field(description=f"one of {', '.join(REASONING_EFFORTS)}")]
Names = Annotated[tuple[str, ...] | None, BeforeValidator(_split_list)]
ExtraBody = Annotated[str | None, BeforeValidator(_write_json)]
TracingEnvironment = Annotated[
    str | None,
    AfterValidator(_check_environment),
    Field(description="a name of at most 40 small letters, digits, - and _ that does not begin with langfuse"),
]
Folder = Annotated[Path, AfterValidator(Path.expanduser), Field(description="a folder")]
ExistingFolder = Annotated[Path | None, AfterValidator(_resolve_folder), Field(description="a folder that is there")]
DatabaseUrl = Annotated[
    SecretStr | None,
    AfterValidator(_check_database_url),
    Field(
        description="sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME; @ : / % in a password: %40 %3A %2F %25"
    ),
]
Host = Annotated[
    str, AfterValidator(_check_host), Field(description="an IP address of this machine, such as 127.0.0.1, or localhost")
]
Origin = Annotated[
    str | None,
    Field(pattern=r"^https?://[^\s/?#@]+/?$", description="an address without a path, such as https://waymark.example.org"),
    AfterValidator(_clean_origin),
]
UrlPrefix = Annotated[str, AfterValidator(check_prefix), Field(description=PREFIX_RULE)]
Networks = Annotated[
    tuple[Network, ...] | None,
    BeforeValidator(_parse_networks),
    Field(description="a list of networks, such as 10.0.3.0/24, and not of all addresses"),
]
SecretHeaders = Annotated[
    dict[str, SecretStr] | None,
    BeforeValidator(_split_headers),
    AfterValidator(_check_headers),
    Field(description="headers such as NAME=VALUE, with commas between"),
]
Secret = Annotated[SecretStr, AfterValidator(_check_secret)]
MetricsKey = Annotated[SecretStr, AfterValidator(_check_key), Field(min_length=16)]
ProxyHeader = Annotated[
    str,
    Field(pattern=r"^[Xx]-[A-Za-z0-9-]{1,60}$|^Remote-(User|Groups)$", description="a header such as X-Forwarded-User"),
]
Issuer = Annotated[str, AfterValidator(_check_issuer)]
Scopes = Annotated[
    str, AfterValidator(_check_scopes), Field(description="names with spaces between them, one of which is openid")
]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Label = Annotated[str, Field(min_length=1, max_length=200)]
Labels = Annotated[
    tuple[Label, ...] | None, BeforeValidator(_split_list), Field(description="a list of texts of at most 200 characters")
]
MIN_SECRET_CHARS = 32
GROUPS_RULE = "a list of groups, as the provider names them"
LABEL_RULE = "a text of at most 200 characters"
PRICE_UNIT = "US dollars per million tokens"
PRICE_RULE = f"a number of {PRICE_UNIT}, at least 0"
NAME_RULE = "small letters, digits and _, at most 31, beginning with a letter"
GRAPH_PATH = r"^.+\.py:[A-Za-z_]\w*$"
GRAPH_RULE = "the path of a Python file, a colon and the name of a graph in it, such as agents.py:graph"
# These are the plain tables of waymark.toml. Groups are lists, because a group's name may contain a comma.
PLAIN_TABLES = {
    "tools": ("enabled", "approval"),
    "models": ("offered",),
    "oidc": ("groups_claim", "admin_groups", "member_groups", "reader_groups"),
    "model": ("temperature", "top_p", "max_tokens", "reasoning_effort", "extra_body"),
    "limits": (
        *(f"{owner}_{unit}" for owner in ("run", "agent", "branch") for unit in ("answers", "calls", "seconds")),
        *("tool_seconds", "depth"),
    ),
}
NAMED_TABLES = ("agents", "extension", "graphs", "mcp", "prices")
# These keys are of providers without other settings (agent.models.providers).
PROVIDER_KEYS = (
    "ANTHROPIC_API_KEY",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
