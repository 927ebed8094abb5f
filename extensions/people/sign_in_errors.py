"""A failed sign-in at a provider: a sentence for the page, and the reason for the log."""

from http import HTTPStatus

from words import N_

UNVERIFIED = N_("The sign-in could not be verified, so nobody was signed in. Try again.")
UNREACHABLE = N_("The sign-in service does not answer. Try again in a moment.")
CANCELLED = N_("The sign-in was cancelled, or the sign-in service refused it.")
REPORTED = N_("The sign-in service reported an error. Try again.")
OUTDATED = N_("This sign-in took too long, was used already, or began in another browser. Try again.")
NO_GROUP = N_("You are in none of the groups that may use Waymark. Ask whoever runs it.")
SURPLUS = N_("Too many sign-ins from here have failed. Try again in a moment.")


class SignInError(Exception):
    """Raised with a sentence above. The reason contains no secret, and is for the log only."""

    def __init__(self, text: str, reason: str, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> None:
        super().__init__(reason)
        self.text = text
        self.status = status


class UnreachableError(SignInError):
    """The provider does not answer, or its answer is invalid."""

    def __init__(self, reason: str) -> None:
        super().__init__(UNREACHABLE, reason, HTTPStatus.BAD_GATEWAY)
