"""The tags of all conversations: list, rename, remove and restore tags. Each answer has the current list."""

from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from checkpoints.tags import Tags
from checkpoints.values.tag import Tag
from components.services import Services
from components.shapes import parse_body

TAGS_PATH = "/api/tags"


class TagName(TypedDict):
    name: str


def add_route(server: FastAPI, services: Services) -> None:
    tags = Tags(services.store)

    async def answer_list() -> Response:
        found = await services.read_snapshot(tags.count_tags)
        return JSONResponse({"tags": [describe_tag(each) for each in found]})

    @server.get(TAGS_PATH)
    async def list_tags() -> Response:
        return await answer_list()

    @server.post(f"{TAGS_PATH}/{{tag_id}}/rename")
    async def rename_tag(tag_id: str, request: Request) -> Response:
        await services.run_blocking(tags.rename_tag, tag_id, parse_name(await request.body()))
        return await answer_list()

    @server.post(f"{TAGS_PATH}/{{tag_id}}/remove")
    async def remove_tag(tag_id: str) -> Response:
        await services.run_blocking(tags.remove_tag, tag_id)
        return await answer_list()

    @server.post(f"{TAGS_PATH}/{{tag_id}}/restore")
    async def restore_tag(tag_id: str) -> Response:
        await services.run_blocking(tags.restore_tag, tag_id)
        return await answer_list()


def parse_name(body: bytes) -> str:
    """Raises `MalformedRequestError`."""
    return parse_body(TagName, body)["name"]


def describe_tag(tag: Tag) -> dict[str, Any]:
    return {"id": tag.id, "name": tag.name, "threads": tag.threads, "removed": tag.is_removed}
