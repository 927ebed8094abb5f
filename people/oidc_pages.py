"""The page before the sign-in at a provider: a single button."""

from html import escape
from http import HTTPStatus

from starlette.responses import HTMLResponse

from people.pages import Pages
from server.session.session_authentication import SIGN_IN_PATH
from words import _


class OidcPages(Pages):
    def build_button(self, *, next_path: str, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
        kept = f'<input type="hidden" name="next" value="{escape(next_path)}">'
        about = f'<p class="sign-in-about">{escape(_("You sign in at your organisation, and come back here."))}</p>'
        button = f'<button class="btn btn-primary" autofocus>{escape(_("Sign in"))}</button>'
        form = f'<form method="post" action="{SIGN_IN_PATH}">{kept}{about}{button}</form>'
        return self._build(_("Sign in"), form, status)
