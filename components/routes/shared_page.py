"""The page behind a link, for strangers: the shared messages, without scripts or any other information.

Wrong, expired and revoked links get the same answer.
"""

import hashlib
import logging
from http import HTTPStatus

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from checkpoints import LOCAL_OWNER, NotFoundError, StateError, act_for
from checkpoints.interchange.document_redaction import Redact
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.readable import read_path
from checkpoints.people.shares import SharedThing, Shares
from components.routes.export_download import check_stored_size
from components.services import Services
from components.transfers.html_export import Heading, write_html, write_notice
from components.views.names import DocumentNames
from server.addresses import build_address
from words import _, get_language, ngettext, say_moment

SHARED_PATH = "/shared"
# The texts of a page may take this much processor time.
MAX_SHARED_SECONDS = 30.0
_log = logging.getLogger("waymark.shares")


def add_route(server: FastAPI, services: Services) -> None:
    shares = Shares(services.store)

    @server.get(SHARED_PATH)
    async def show_shared(request: Request) -> Response:
        home = build_address("/")
        try:
            thing = await services.run_blocking(shares.open_link, request.query_params.get("token", ""))
            with act_for(thing.thread.owner, only_reads=True):
                return HTMLResponse(await _read_page(services, thing))
        except NotFoundError:
            text = _("It may be mistyped, have ended, or have been revoked. Ask whoever gave it to you.")
            return HTMLResponse(write_notice(_("This link does not work"), text, home), HTTPStatus.NOT_FOUND)
        except StateError as error:
            _log.warning("a shared page could not be made: %s", error)
            text = _("Please try again later.")
            return HTMLResponse(
                write_notice(_("This cannot be shown right now"), text, home), HTTPStatus.SERVICE_UNAVAILABLE
            )


async def _read_page(services: Services, thing: SharedThing) -> bytes:
    await services.read_snapshot(check_stored_size, services.store, thing.thread.id)

    def write(redact: Redact) -> str:
        options = ExportOptions(thing.share.redaction, redact=redact)
        conversation = read_path(services.store, thing.thread.id, thing.checkpoint, options)
        heading = _build_heading(services, thing, len(conversation.messages))
        return write_html(services.store, conversation, heading, max_seconds=MAX_SHARED_SECONDS)

    return await services.shared_pages.read(_build_key(thing), write)


def _build_heading(services: Services, thing: SharedThing, count: int) -> Heading:
    time = thing.checkpoint.timestamp if thing.checkpoint else services.store.now()
    owner = thing.thread.owner
    name = owner if thing.share.shows_name and owner != LOCAL_OWNER else ""
    parts = [
        ngettext("{count:,} message.", "{count:,} messages.", count),
        _("Shared by {name} with Waymark, as of {value} UTC.", name=name, value=say_moment(time))
        if name
        else _("Shared with Waymark, as of {value} UTC.", value=say_moment(time)),
        _("Parts of it may be left out.") if thing.share.redaction else "",
    ]
    names = DocumentNames(owner, own=name or _("You"), unknown=_("Question") if name else _("You"))
    return Heading(" ".join(filter(None, parts)), names, build_address("/"), is_whole=thing.checkpoint is None)


def _build_key(thing: SharedThing) -> str:
    """Build a key that changes with the link's contents. As a hash, it has a fixed size and reveals nothing."""
    at = thing.checkpoint
    shown = (at.node and at.node.id, at.name, at.description) if at else (thing.thread.version,)
    return hashlib.sha256(repr((thing.share.id, get_language(), *shown)).encode()).hexdigest()
