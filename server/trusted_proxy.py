"""The sign-in behind an authenticating proxy: it signs people in, and names the person of each request in a header.

A request is the proxy's if it comes from the proxy's networks and carries the secret. Any other request is refused, whoever
it claims to be. No header with a person's name or the secret reaches the app.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

from starlette.responses import Response
from starlette.types import Scope

from server.addresses import build_address
from server.answers import build_refresh, build_text
from server.session.session_authentication import SIGN_IN_PATH
from words import N_, _

SECRET_HEADER = "x-waymark-proxy-secret"  # noqa: S105  (a name)
DEFAULT_GROUPS_HEADER = "X-Forwarded-Groups"
MAX_PERSON_CHARS = 200
Network = IPv4Network | IPv6Network
_NOT_THE_PROXY = N_("Waymark can only be reached through its proxy.")
_NOBODY = N_("The proxy named no person.")


@dataclass(frozen=True)
class TrustedProxy:
    """The proxy in front of this server. No person may have a name in `reserved_names`."""

    networks: Sequence[Network]
    secret: str
    person_header: str
    reserved_names: frozenset[str] = frozenset()
    groups_header: str = DEFAULT_GROUPS_HEADER
    # It gives the role for a person's groups. It is None if there are no roles.
    choose_role: Callable[[frozenset[str]], str] | None = None

    @property
    def header_names(self) -> frozenset[bytes]:
        return frozenset({self.person_header.lower().encode(), self.groups_header.lower().encode(), SECRET_HEADER.encode()})

    def recognize(self, scope: Scope, *, is_public: bool = False) -> Response | None:
        """Return None for a request of the proxy, after noting its person in the scope's state; otherwise a refusal.

        Public addresses are open to everybody, and get no person.
        """
        names, groups, given_secrets = self._take_headers(scope)
        if is_public:
            return None
        if names is None or not self._is_from_proxy(scope, given_secrets):
            return build_text(HTTPStatus.FORBIDDEN, _(_NOT_THE_PROXY))
        person = _parse_person(names)
        if person is None or person in self.reserved_names:
            return build_text(HTTPStatus.UNAUTHORIZED, _(_NOBODY))
        scope.setdefault("state", {})["person"] = person
        if self.choose_role is not None:
            scope["state"]["role"] = self.choose_role(_parse_groups(groups))
        is_page = scope["type"] == "http" and scope["method"] == "GET"
        if is_page and scope["path"] == SIGN_IN_PATH:
            # The page goes there when the proxy has signed it out.
            return build_refresh(build_address("/"))
        return None

    def _take_headers(self, scope: Scope) -> tuple[list[bytes] | None, list[bytes], list[bytes]]:
        """Take the values of our headers out of a request: names, groups and secrets.

        The names are None if a header has a name that others read as ours, or if the groups come twice.
        """
        own = {name.lower().encode(): list[bytes]() for name in (self.person_header, self.groups_header, SECRET_HEADER)}
        rest, is_disguised = [], False
        for name, value in scope["headers"]:
            read_as = name.lower().replace(b"_", b"-")
            if read_as in own:
                own[read_as].append(value)
                is_disguised = is_disguised or name.lower() != read_as
            else:
                rest.append((name, value))
        scope["headers"] = rest
        names, groups, given_secrets = own.values()
        return None if is_disguised or len(groups) > 1 else names, groups, given_secrets

    def _is_from_proxy(self, scope: Scope, given_secrets: Sequence[bytes]) -> bool:
        """Return whether the request has the secret, once, and comes from the proxy. No other header changes its origin."""
        has_secret = len(given_secrets) == 1 and secrets.compare_digest(given_secrets[0], self.secret.encode())
        address, *_port = scope.get("client") or ("",)
        return has_secret and _is_in(address, self.networks)


def _is_in(text: str, networks: Sequence[Network]) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        # A socket of this machine has no address.
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in network for network in networks)


def _parse_person(values: Sequence[bytes]) -> str | None:
    """Return the name of a person; None unless a single header has a single name: proxies join headers with commas."""
    try:
        [name] = [value.decode() for value in values]
    except ValueError:
        return None
    name = name.strip()
    return name if 0 < len(name) <= MAX_PERSON_CHARS and name.isprintable() and "," not in name else None


def _parse_groups(values: Sequence[bytes]) -> frozenset[str]:
    """Return the groups of a person, joined with commas by proxies."""
    texts = (value.decode(errors="replace") for value in values)
    return frozenset(group.strip() for text in texts for group in text.split(",") if group.strip())
