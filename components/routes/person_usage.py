"""The usage of the person who asks, or of everybody for admins."""

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints.people.usage import read_own_usage, read_usage_of_all
from components.people import ADMIN, get_acting_role
from components.services import Services
from components.views.usage_table import describe_usage

USAGE_PATH = "/api/usage"


def add_route(server: FastAPI, services: Services) -> None:
    @server.get(USAGE_PATH)
    async def get_usage() -> Response:
        is_admin = get_acting_role() == ADMIN
        found = await services.run_blocking(read_usage_of_all if is_admin else read_own_usage, services.store)
        return JSONResponse({"people": describe_usage(found, services.prices), "is_admin": is_admin})
