"""The library of prompts: list, save and delete. Each answer has the current list."""

from typing import Annotated

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from checkpoints.saved_prompts import SavedPrompt, SavedPrompts
from checkpoints.values.limits import MAX_SAVED_PROMPTS
from checkpoints.values.text import shorten
from components.services import Services
from components.shapes import parse_body
from components.views.shown_text import MAX_BEGINNING_CHARS

PROMPTS_PATH = "/api/prompts"


class PromptFields(TypedDict):
    """A prompt from the page, with an id chosen by the page."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f-]{1,64}$")]
    name: str
    text: str


def add_route(server: FastAPI, services: Services) -> None:
    prompts = SavedPrompts(services.store)

    async def answer_list() -> Response:
        found = await services.read_snapshot(prompts.list_prompts)
        return JSONResponse({"prompts": [describe_prompt(each) for each in found], "most": MAX_SAVED_PROMPTS})

    @server.get(PROMPTS_PATH)
    async def list_prompts() -> Response:
        return await answer_list()

    @server.get(f"{PROMPTS_PATH}/{{prompt_id}}")
    async def get_prompt(prompt_id: str) -> Response:
        found = await services.read_snapshot(prompts.get_prompt, prompt_id)
        return JSONResponse({"id": found.id, "name": found.name, "text": found.text})

    @server.post(PROMPTS_PATH)
    async def save_prompt(request: Request) -> Response:
        fields = parse_prompt(await request.body())
        await services.run_blocking(prompts.save_prompt, fields["id"], fields["name"], fields["text"])
        return await answer_list()

    @server.post(f"{PROMPTS_PATH}/{{prompt_id}}/delete")
    async def delete_prompt(prompt_id: str) -> Response:
        await services.run_blocking(prompts.delete_prompt, prompt_id)
        return await answer_list()


def parse_prompt(body: bytes) -> PromptFields:
    """Raises `MalformedRequestError`."""
    return parse_body(PromptFields, body)


def describe_prompt(prompt: SavedPrompt) -> dict[str, str]:
    """Describe a prompt for the list, with the beginning of its text."""
    return {"id": prompt.id, "name": prompt.name, "excerpt": shorten(prompt.text, MAX_BEGINNING_CHARS)}
