"""The export dialog: the format, and the parts to leave out."""

from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Checkbox, Label, ModalBody, ModalFooter, Select
from dash_bootstrap_components import Textarea as Field

from checkpoints.values.thread_ids import write_thread_id
from components import dialog, page_state
from components.panel import Panel
from components.properties import Properties
from components.routes.export_download import EXPORT_FORMATS
from components.services import Services
from components.widgets import Icon, build_menu_item
from server.addresses import build_address
from words import N_, _

REDACTION_LIMITS = N_(
    "Capitals, accents, other dashes and quotes, line breaks between words and invisible characters make no difference. "
    "Not found: words that a space, a line break or a hyphen splits; words and phrases that formatting splits; encoded "
    "text; and letters or signs that only look alike, such as 0 for O or those of another alphabet. Times, types and token "
    "counts are not searched."
)


class Ids(StrEnum):
    BUTTON = "export"
    DIALOG = "export-dialog"
    FORM = "export-form"
    FORMAT = "export-format"
    LEAVE_OUT_RESULTS = "export-tool-results"
    LEAVE_OUT_FILES = "export-files"
    REDACTED_WORDS = "export-words"
    CANCEL = "export-cancel"
    CONFIRM = "export-confirm"
    # The question before an export is saved that no import takes. The page opens it (exporting.mjs).
    WARNING = "export-warning"
    WARNING_TEXT = "export-warning-text"
    SAVE = "export-warning-save"


def buttons() -> list[Component]:
    return [build_menu_item("download", _("Export"), Ids.BUTTON, title=_("Export this conversation"), hidden=True)]


def dialogs() -> list[Component]:
    """Build the form. The browser reads it (exporting.mjs), so the request always matches the form."""
    body = [
        Label(_("Format"), html_for=Ids.FORMAT),
        Select(
            id=Ids.FORMAT,
            name="format",
            value="waymark",
            options=[{"label": _(kind.label), "value": value} for value, kind in EXPORT_FORMATS.items()],
        ),
        html.P(_("Waymark JSON contains every branch and checkpoint and can be imported again."), className="quiet"),
        html.P(
            _("Alternatives that no branch or listed checkpoint reaches are left out, with any checkpoints on them."),
            className="quiet",
        ),
        Checkbox(id=Ids.LEAVE_OUT_RESULTS, name="leave_out", label=_("Leave out tool results"), value=False),
        Checkbox(id=Ids.LEAVE_OUT_FILES, name="leave_out_files", label=_("Leave out attached files"), value=False),
        Label(
            [_("Words to redact"), " ", html.Span(_("optional, one per line"), className="quiet")],
            html_for=Ids.REDACTED_WORDS,
        ),
        Field(id=Ids.REDACTED_WORDS, name="redact", rows=2, placeholder="sk-*"),
        html.P(
            _("* matches the rest of a word. Attached files are left out as well, because images cannot be searched."),
            className="quiet",
        ),
        html.Details(
            [
                html.Summary([html.Span(Icon(name="chevron-right"), className="fold-arrow"), _("Limits of this search")]),
                html.P(_(REDACTION_LIMITS), className="quiet"),
            ],
            className="fold quiet",
        ),
    ]
    form = html.Form([ModalBody(body), _build_footer()], id=Ids.FORM, method="post", autoComplete="off")
    return [dialog.build_modal(Ids.DIALOG, _("Export"), [form]), _build_warning()]


def _build_footer() -> Component:
    # The second press of a double one comes while the dialog closes.
    once: Any = {"data-once": ""}
    cancel = Button(_("Cancel"), id=Ids.CANCEL, color="secondary", outline=True, type="button")
    export = html.Button(_("Export"), id=Ids.CONFIRM, className="btn btn-primary", type="submit", **once)
    footer: Component = ModalFooter([cancel, export])
    return footer


def _build_warning() -> Component:
    words = [html.P(id=Ids.WARNING_TEXT), html.P(_("The file is complete, and other programs can read it."))]
    buttons = [
        dialog.build_closing_button(Ids.WARNING, _("Close")),
        Button(_("Save anyway"), id=Ids.SAVE, color="primary"),
    ]
    title = _("This export cannot be imported again")
    question: Component = dialog.build_modal(Ids.WARNING, title, [ModalBody(words), ModalFooter(buttons)])
    return question


def show(_: Services, location: page_state.PageLocation) -> Properties:
    action = build_address(f"/api/threads/{write_thread_id(location.thread_id or '')}/export")
    return {Ids.FORM: {"action": action}, Ids.BUTTON: {"hidden": location.thread_id is None}}


def register(app: Dash, _: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "showDialog"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.BUTTON, "n_clicks"),
        prevent_initial_call=True,
    )
    dialog.close_on(app, Ids.DIALOG, Input(Ids.CANCEL, "n_clicks"), Input(Ids.CONFIRM, "n_clicks"))
    dialog.register_dialog(app, Ids.WARNING)
    dialog.close_on(app, Ids.WARNING, Input(Ids.SAVE, "n_clicks"))


PANEL = Panel(register=register, dialogs=dialogs, buttons=buttons, show=show)
