"""The pages before the sign-in: the form for a name and a password, and the form of a link."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from http import HTTPStatus
from pathlib import Path

from starlette.responses import HTMLResponse

from checkpoints.rows.account_rows import MAX_PASSWORD_CHARS, MAX_PERSON_NAME_CHARS, MIN_PASSWORD_CHARS
from server.addresses import build_address
from server.answers import LOST_FILES
from server.session.session_authentication import SIGN_IN_PATH
from words import _, get_language

# The page of an invitation.
JOIN_PATH = "/join"
_TEMPLATE = Path(__file__).parents[2] / "assets" / "sign-in.html"
_PLACE = re.compile(r"\{%(\w+)%\}")


@dataclass(frozen=True)
class Field:
    """A field of a form. Password managers read its `purpose`."""

    name: str
    label: str
    purpose: str
    about: str = ""
    value: str = ""
    is_fixed: bool = False

    @property
    def is_secret(self) -> bool:
        return self.purpose.endswith("password")


@cache
def _load_template() -> str:
    return _TEMPLATE.read_text(encoding="utf-8")


class Pages:
    """Build the pages. `files` is the base path of the page's own files."""

    def __init__(self, files: str) -> None:
        self._files = files

    def build_sign_in(
        self, *, next_path: str, problem: str = "", name: str = "", status: HTTPStatus = HTTPStatus.OK
    ) -> HTMLResponse:
        fields = [
            Field("name", _("Name"), "username", value=name),
            Field("password", _("Password"), "current-password"),
        ]
        form = _build_form(SIGN_IN_PATH, fields, {"next": next_path}, _("Sign in"))
        return self._build(_("Sign in"), _build_problem(problem) + form, status)

    def build_invitation(
        self, token: str, person: str | None, *, problem: str = "", name: str = "", status: HTTPStatus = HTTPStatus.OK
    ) -> HTMLResponse:
        """Build the form for a new account, or for a new password of a person."""
        rule = _("At least {least} characters. A few words in a row are easy to keep.", least=MIN_PASSWORD_CHARS)
        own = _("You choose it now, and it stays. The admins see it.")
        fields = [
            Field("name", _("Name"), "username", "" if person else own, person or name, is_fixed=person is not None),
            Field("password", _("New password") if person else _("Password"), "new-password", rule),
        ]
        title = _("Choose a new password") if person else _("Welcome to Waymark")
        form = _build_form(JOIN_PATH, fields, {"token": token}, _("Save and sign in") if person else _("Join"))
        return self._build(title, _build_problem(problem) + form, status)

    def build_notice(self, title: str, text: str, status: HTTPStatus) -> HTMLResponse:
        link = f'<a class="btn btn-primary" href="{build_address(SIGN_IN_PATH)}">{escape(_("Sign in"))}</a>'
        return self._build(title, f"<p>{escape(text)}</p>{link}", status)

    def _build(self, title: str, content: str, status: HTTPStatus) -> HTMLResponse:
        parts = {"language": get_language(), "title": escape(title), "content": content}
        parts |= {"assets": build_address(self._files), "lost_files": escape(_(LOST_FILES))}
        return HTMLResponse(_PLACE.sub(lambda found: parts[found[1]], _load_template()), status)


def _build_problem(text: str) -> str:
    return f'<p class="sign-in-problem" role="alert">{escape(text)}</p>' if text else ""


def _build_form(path: str, fields: Sequence[Field], hidden: dict[str, str], button: str) -> str:
    kept = "".join(f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in hidden.items())
    first = next((each.name for each in fields if not each.value), fields[0].name)
    shown = "".join(_build_field(each, has_focus=each.name == first) for each in fields)
    submit = f'<button class="btn btn-primary">{escape(button)}</button>'
    return f'<form method="post" action="{build_address(path)}">{kept}{shown}{submit}</form>'


def _build_field(field: Field, *, has_focus: bool) -> str:
    limit = f'maxlength="{MAX_PASSWORD_CHARS if field.is_secret else MAX_PERSON_NAME_CHARS}"'
    rules = [
        f'type="{"password" if field.is_secret else "text"}"',
        f'autocomplete="{field.purpose}"',
        'required autocapitalize="none" spellcheck="false"',
        limit,
        f'minlength="{MIN_PASSWORD_CHARS}"' if field.purpose == "new-password" else "",
        f'value="{escape(field.value)}"' if field.value else "",
        "readonly" if field.is_fixed else "",
        "autofocus" if has_focus else "",
        f'aria-describedby="{field.name}-about"' if field.about else "",
    ]
    about = f'<p class="sign-in-about" id="{field.name}-about">{escape(field.about)}</p>' if field.about else ""
    label = f'<label class="form-label" for="{field.name}">{escape(field.label)}</label>'
    given = " ".join(filter(None, rules))
    return f'{label}<input class="form-control" id="{field.name}" name="{field.name}" {given}>{about}'
