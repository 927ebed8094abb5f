"""The transcripts of sub-agents. The page requests one when the user opens it, to keep the page and its stream small."""

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from agent.context.memory import recall_path
from components.services import Services
from components.views import message_view


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id}/agents/{agent}")
    async def get_transcript(thread_id: str, agent: str, question: str | None = None) -> Response:
        """Return an agent's memory as of the head, or all its work on one question. The guard has checked the request."""
        return JSONResponse(await services.read_snapshot(_read_agent_transcript, services, thread_id, agent, question))


def _read_agent_transcript(
    services: Services, thread_id: str, agent: str, question: str | None
) -> list[message_view.MessageView]:
    store, run = services.store, services.runs.get_latest_run(thread_id)
    since = store.get_message(thread_id, question).depth if question else 0
    path = (
        store.list_messages(thread_id, last=store.count_messages(thread_id) - since)
        if store.count_messages(thread_id) > since
        else []
    )
    agent_messages = [message for message in path if message.agent == agent]
    later = next((message.depth for message in agent_messages[1:] if question and message.type == "human"), None)
    path = [message for message in path if later is None or message.depth < later]
    extras = message_view.MessageExtras(
        run_state=run.state if run else None, prices=services.prices, to_html=services.renderer.page()
    )
    return message_view.describe_messages(path if question else recall_path(path, agent), extras, agent=agent)
