"""The members of a conversation: list them, let people in, change a role, remove people, and leave."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.events import MembersChanged
from checkpoints import EVERYBODY, RunState, Thread, act_for, get_acting_owner
from checkpoints.people.members import Members
from checkpoints.rows.member_rows import Member
from checkpoints.values.model import ThreadRole
from components.services import Services

MAX_STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ConversationPeople:
    """The people of a conversation as the acting person sees them. Without separate owners, nobody can be let in."""

    is_shared: bool
    role: ThreadRole | None
    owner: str
    members: Sequence[Member]


class MemberRequests:
    """The members of conversations, as requests change them. A person who may no longer write loses a running answer."""

    def __init__(self, services: Services) -> None:
        self._services, self._members = services, Members(services.store)

    def describe(self, thread_id: str) -> ConversationPeople:
        store = self._services.store
        thread = store.get_thread(thread_id)
        if not store.database.separates_owners:
            return ConversationPeople(is_shared=False, role=ThreadRole.OWNER, owner="", members=())
        role, members = self._members.find_role(thread_id), self._members.list_members(thread_id)
        return ConversationPeople(is_shared=True, role=role, owner=thread.owner, members=members)

    async def add(self, thread_id: str, name: str, role: ThreadRole) -> None:
        added = await self._services.run_blocking(self._members.add_member, thread_id, name, role)
        await self._publish(thread_id, added.person)

    async def change_role(self, thread_id: str, person: str, role: ThreadRole) -> None:
        await self._services.read_snapshot(self._members.require_member, thread_id, person)
        if role is ThreadRole.READER:
            await self._stop_answer(thread_id, person)
        await self._services.run_blocking(self._members.change_role, thread_id, person, role)
        await self._publish(thread_id, person)
        if role is ThreadRole.READER:
            # An answer may have begun meanwhile.
            await self._stop_answer(thread_id, person)

    async def remove(self, thread_id: str, person: str) -> None:
        await self._services.read_snapshot(self._members.require_member, thread_id, person)
        await self._stop_answer(thread_id, person)
        await self._services.run_blocking(self._members.remove_member, thread_id, person)
        await self._publish(thread_id, person)
        await self._stop_answer(thread_id, person)

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
