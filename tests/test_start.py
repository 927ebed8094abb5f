"""The start of the server is nearly all imports: packages that the page does not need are not among them."""

import json
import subprocess
import sys

import pytest

from tests.app_process import ROOT, read_environment

pytestmark = pytest.mark.slow

START = """
import json, runpy, sys
import server.serving
def show(*_): print(json.dumps({"modules": list(sys.modules)}))
server.serving.serve_until_signal = show
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module", params=["demo", "openai:gpt-x"])
def start(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, object]:
    """The state of a process that is about to serve a new data folder."""
    settings = {"MODEL": request.param, "OPENAI_API_KEY": "sk-x", "PORT": "0"}
    environment = read_environment() | {"PYTHONPATH": str(ROOT)} | settings
    command, folder = [sys.executable, "-c", START, str(ROOT / "app.py")], tmp_path_factory.mktemp("start")
    child = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    state: dict[str, object] = json.loads(child.stdout)
    return state


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("psycopg", "only a database of PostgreSQL needs its driver"),
        ("extensions", "the settings of one person with a file ask for none"),
        ("sqlalchemy.dialects.postgresql", "only a database of PostgreSQL needs its dialect"),
        ("argon2", "only passwords need it"),
        ("authlib", "only AUTH=oidc needs it"),
        ("joserfc", "only AUTH=oidc needs it"),
        ("extensions.people.accounts", "only AUTH=password and oidc need it"),
        ("alembic", "only an older database is migrated"),
        ("babel", "English needs no catalogue"),
        ("flask_bootstrap", "only its files are served"),
        ("flask", "it comes with flask_bootstrap"),
        ("jinja2", "it comes with flask_bootstrap"),
        ("wtforms", "it comes with flask_bootstrap"),
        ("agent.graph.graph", "the agent is loaded while the page is served"),
        ("langgraph", "only the graph needs it"),
        ("langchain_core.language_models.chat_models", "only models need it"),
        ("langchain_core.tools.base", "only tools need it"),
        ("langsmith", "it comes with models and tools"),
        ("openai", "only its models need it"),
        ("httpx", "only models and tools send requests"),
    ],
)
def test_the_start_does_not_import(package: str, reason: str, start: dict[str, list[str]]) -> None:
    assert package not in start["modules"], reason
