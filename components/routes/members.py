"""The members of a conversation: list them, let people in, change a role, remove people, and leave."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, NotRequired

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from agent.events import MembersChanged
from checkpoints import EVERYBODY, RunState, Thread, act_for, get_acting_owner
from checkpoints.people.members import Members
from checkpoints.values.limits import MAX_LABEL_CHARS
from checkpoints.values.model import ThreadRole
from components.services import Services
from components.shapes import parse_body
from components.views.audit_sentences import describe_person

MAX_STOP_SECONDS = 5.0
Name = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


class _Person(TypedDict):
    person: Name
    role: NotRequired[Literal["editor", "reader"]]


def add_route(server: FastAPI, services: Services) -> None:
    requests = MemberRequests(services)

    @server.get("/api/threads/{thread_id:thread}/members")
    async def list_members(thread_id: str) -> Response:
        return JSONResponse(await services.read_snapshot(requests.describe, thread_id))

    def serve(path: str, change: Callable[[str, _Person], Awaitable[None]]) -> None:
        @server.post(f"/api/threads/{{thread_id:thread}}/members{path}", name=f"members{path}")
        async def change_members(thread_id: str, request: Request) -> Response:
            await change(thread_id, _parse_member(await request.body()))
            return JSONResponse(await services.read_snapshot(requests.describe, thread_id))

    serve("", requests.add)
    serve("/role", requests.change_role)
    serve("/remove", requests.remove)

    @server.post("/api/threads/{thread_id:thread}/members/leave")
    async def leave(thread_id: str) -> Response:
        await requests.leave(thread_id)
        return JSONResponse({})


class MemberRequests:
    """The members of conversations, as requests change them. A person who may no longer write loses a running answer."""

    def __init__(self, services: Services) -> None:
        self._services, self._members = services, Members(services.store)

    def describe(self, thread_id: str) -> dict[str, Any]:
        store, own = self._services.store, get_acting_owner()
        if not store.database.separates_owners:
            store.get_thread(thread_id)
            return {"has_people": False, "members": [], "owner": "", "role": ThreadRole.OWNER}
        thread, role = store.get_thread(thread_id), self._members.find_role(thread_id)
        members = [
            {"person": each.person, "name": describe_person(each.person), "role": each.role, "is_own": each.person == own}
            for each in self._members.list_members(thread_id)
        ]
        return {"has_people": True, "members": members, "owner": thread.owner, "role": role}

    async def add(self, thread_id: str, fields: _Person) -> None:
        role = ThreadRole(fields.get("role", ThreadRole.EDITOR))
        added = await self._services.run_blocking(self._members.add_member, thread_id, fields["person"], role)
        await self._publish(thread_id, added.person)

    async def change_role(self, thread_id: str, fields: _Person) -> None:
        person, role = fields["person"], ThreadRole(fields.get("role", ThreadRole.READER))
        await self._services.read_snapshot(self._members.require_member, thread_id, person)
        if role is ThreadRole.READER:
            await self._stop_answer(thread_id, person)
        await self._services.run_blocking(self._members.change_role, thread_id, person, role)
        await self._publish(thread_id, person)
        if role is ThreadRole.READER:
            # An answer may have begun meanwhile.
            await self._stop_answer(thread_id, person)

    async def remove(self, thread_id: str, fields: _Person) -> None:
        await self._services.read_snapshot(self._members.require_member, thread_id, fields["person"])
        await self._stop_answer(thread_id, fields["person"])
        await self._services.run_blocking(self._members.remove_member, thread_id, fields["person"])
        await self._publish(thread_id, fields["person"])
        await self._stop_answer(thread_id, fields["person"])

    async def leave(self, thread_id: str) -> None:
        thread, person = (
            await self._services.read_snapshot(self._members.require_shared_thread, thread_id),
            get_acting_owner() or "",
        )
        await self._stop_answer(thread_id, person)
        await self._services.run_blocking(self._members.leave, thread_id)
        self._tell(thread, person)
        # The person no longer sees the conversation.
        with act_for(EVERYBODY):
            await self._stop_answer(thread_id, person)

    async def _stop_answer(self, thread_id: str, person: str) -> None:
        """Stop a running answer that this person asked for."""
        run = await self._services.read_snapshot(self._services.runs.get_latest_run, thread_id)
        if run is not None and run.state is RunState.RUNNING and run.person == person:
            await self._services.runner.stop(thread_id, MAX_STOP_SECONDS)

    async def _publish(self, thread_id: str, person: str) -> None:
        self._tell(await self._services.read_snapshot(self._services.store.get_thread, thread_id), person)

    def _tell(self, thread: Thread, person: str) -> None:
        """Let the pages of the conversation check their person's access again, and tell the person's other pages."""
        self._services.hub.publish(thread.id, MembersChanged(thread.version, person))


def _parse_member(body: bytes) -> _Person:
    """Raises `MalformedRequestError`."""
    return parse_body(_Person, body)
