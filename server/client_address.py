"""The address of a person behind a proxy with TLS. Tries are counted by it."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from starlette.datastructures import Headers
from starlette.types import Scope

Network = IPv4Network | IPv6Network
# This part of an IPv6 address identifies a customer's network.
NETWORK_BITS = 64


def read_client_address(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the trustworthy address of a request: the last address outside of our proxies.

    For IPv6 it is the network, because a single machine has millions of addresses.
    """
    client, *_ = scope.get("client") or ("",)
    forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
    named = [str(client), *(each.strip() for each in reversed(forwarded))]
    found: IPv4Address | IPv6Address | None = None
    for each in named:
        try:
            address = ip_address(each)
        except ValueError:
            break
        found = address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
        if not any(found in network for network in proxies):
            break
    if isinstance(found, IPv6Address):
        return str(ip_network((found, NETWORK_BITS), strict=False))
    return str(found)
