"""The people of the server, as the extension's own panels see them."""

from typing import TYPE_CHECKING, cast

from components.services import Services

if TYPE_CHECKING:
    from extensions.people.admin import PeopleAdmin


def get_people(services: Services) -> "PeopleAdmin | None":
    """Return the people who sign in here; None where a proxy signs them in."""
    return cast("PeopleAdmin | None", services.people)
