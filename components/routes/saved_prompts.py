"""The library of prompts as the message field reads it: the list, and a prompt that is inserted."""

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints.saved_prompts import SavedPrompts
from checkpoints.values.text import shorten
from components.services import Services
from components.views.shown_text import MAX_BEGINNING_CHARS

PROMPTS_PATH = "/api/prompts"


def add_route(server: FastAPI, services: Services) -> None:
    prompts = SavedPrompts(services.store)

    @server.get(PROMPTS_PATH)
    async def list_prompts() -> Response:
        """List the prompts, each with the beginning of its text."""
        found = await services.read_snapshot(prompts.list_prompts)
        listed = [{"id": each.id, "name": each.name, "excerpt": shorten(each.text, MAX_BEGINNING_CHARS)} for each in found]
        return JSONResponse({"prompts": listed})

    @server.get(f"{PROMPTS_PATH}/{{prompt_id}}")
    async def get_prompt(prompt_id: str) -> Response:
        found = await services.read_snapshot(prompts.get_prompt, prompt_id)
        return JSONResponse({"id": found.id, "name": found.name, "text": found.text})
