"""A person as a provider describes them: a subject, a name to show, and groups, which give a role."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkpoints.rows.account_rows import Role

Claims = Mapping[str, Any]
MAX_TEXT_CHARS = 100


@dataclass(frozen=True)
class GroupRoles:
    """The groups of each role. A person in groups of several roles gets the first of these roles."""

    admins: frozenset[str]
    members: frozenset[str]
    readers: frozenset[str]

    def choose_role(self, groups: frozenset[str]) -> Role | None:
        """Return the role for these groups; None if the person may not come in."""
        roles = ((Role.ADMIN, self.admins), (Role.MEMBER, self.members), (Role.READER, self.readers))
        return next((role for role, own in roles if own & groups), None)


def read_groups(claims: Claims, names: Sequence[str]) -> frozenset[str]:
    """Return the groups listed in the claims of these names. A mail address counts only if the provider has verified it."""
    found = set[str]()
    for name in names:
        value = claims.get(name)
        if name == "email" and claims.get("email_verified") is not True:
            continue
        found.update(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str) and each)
    return frozenset(found)


def read_person_name(claims: Claims) -> str:
    """Return a name to show: "Ann Smith (ann@example.org)". It identifies nobody."""
    address = "email" if claims.get("email_verified") is True else "preferred_username"
    name, handle = (_read_text(claims, key) for key in ("name", address))
    handle = handle or _read_text(claims, "preferred_username")
    return f"{name} ({handle})" if name and handle and name != handle else name or handle


def _read_text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    return value.strip()[:MAX_TEXT_CHARS] if isinstance(value, str) else ""
