"""The dialog of people and links, as a page asks for it and reports what was done in it."""

import json
import secrets
from typing import Any

import httpx

from tests.running_app import JSON, ORIGIN, post_callback

NEW_LINK: JSON = {"share_results": False, "share_files": False, "share_shows_name": False, "share_words": None}

GONE = "This no longer exists. It may have been deleted on another page."


def row(kind: str, name: str, part: str = "n_clicks") -> str:
    """Return what a part of a row triggers."""
    return f"{json.dumps({'row': name, 'type': kind}, separators=(',', ':'), ensure_ascii=False)}.{part}"


async def change(browser: httpx.AsyncClient, thread: str, trigger: str, values: JSON | None = None, **texts: Any) -> Any:
    """Do something in the dialog; `texts` are the values of its fields."""
    output = "share-dialog.is_open" if "member-leave" in trigger else "share-dialog-changed.data"
    fields = {f"{name.replace('_', '-')}.value": value for name, value in texts.items()}
    reply = await post_callback(browser, trigger, _place(thread) | fields | (values or {}), output=output)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def make_link(
    browser: httpx.AsyncClient, thread: str, *, days: int = 1, checkpoint: str | None = None, token: str = "", **texts: Any
) -> Any:
    """Make a link. The token is that of an earlier request, if this repeats it."""
    about = {"id": checkpoint, "name": "a name"} if checkpoint else None
    token = token or secrets.token_urlsafe(32)
    opened = {"share-dialog-opened.data": {"at": 1, "about": about}, "share-next.data": token}
    return await change(browser, thread, "share-form.n_submit", opened, **NEW_LINK | {"share_days": str(days)} | texts)


async def change_members(
    browser: httpx.AsyncClient, thread: str, change_name: str, person: str, role: str = "reader"
) -> Any:
    """Let a person in, change their role, remove them, or leave."""
    match change_name:
        case "add":
            return await change(browser, thread, "share-let-in-form.n_submit", share_name=person, share_role=role)
        case "role":
            trigger = row("member-role", f"{'editor' if role == 'reader' else 'reader'}:{person}", "value")
            return await change(browser, thread, trigger, {trigger: role})
        case _:
            return await change(browser, thread, row(f"member-{change_name}", person))


async def read_dialog(browser: httpx.AsyncClient, thread: str) -> httpx.Response:
    opened = {"share-dialog-opened.data": {"at": 1, "about": None}, "share-next.data": None}
    values = _place(thread) | opened
    return await post_callback(browser, "share-dialog-opened.data", values, output="share-dialog-body.children")


def read_refusal(reply: Any) -> str | None:
    """Return the sentence that the dialog shows instead of what was done."""
    refused: str | None = reply.get("sideUpdate", {}).get("share-dialog-problem-text", {}).get("children")
    return refused


def read_token(made: Any) -> str:
    """Return the secret of the link that was made."""
    return str(made["response"]["share-link"]["value"]).partition("token=")[2]


def _place(thread: str) -> JSON:
    return {"url.pathname": f"/t/{thread}", "url.href": f"{ORIGIN}/t/{thread}"}
