"""The graphs that the settings name, and LangGraph's own file of them as its author wrote it."""

import json
import logging
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from agent.settings import InvalidSettingsError, ThreadSettings
from application.settings import Settings, SettingsError, load_settings
from extensions.graphs.catalog import GraphCatalog
from extensions.graphs.definitions import GraphDefinition, GraphLoadError
from extensions.graphs.graph_settings import list_graphs
from extensions.graphs.loading import load_catalog
from tests.extensions.graphs.running_graphs import AGENT


def write_project(tmp_path: Path, **content: Any) -> Path:
    path = tmp_path / "langgraph.json"
    path.write_text(json.dumps(content))
    return path


def test_a_file_and_a_variable_are_a_graph_of_that_name() -> None:
    found = list_graphs(Settings(graph="some/agents.py:research"))
    assert [(each.name, each.path, each.variable) for each in found] == [
        ("research", Path("some/agents.py").resolve(), "research")
    ]


def test_tables_name_graphs_after_that_of_the_environment(tmp_path: Path) -> None:
    toml = tmp_path / "waymark.toml"
    toml.write_text('[graphs.writer]\npath = "agents.py:make_writer"\ndescription = "writes"\n')
    settings = load_settings({"GRAPH": "agents.py:research"}, dotenv=Path("no.env"), tables=toml)
    assert [(each.name, each.variable, each.description) for each in list_graphs(settings)] == [
        ("research", "research", ""),
        ("writer", "make_writer", "writes"),
    ]
    toml.write_text('[graphs.research]\ncontext = {user = "Ada"}\nmessages_key = "chat"\n')
    settings = load_settings({"GRAPH": "agents.py:research"}, dotenv=Path("no.env"), tables=toml)
    assert [(each.context, each.messages_key) for each in list_graphs(settings)] == [({"user": "Ada"}, "chat")]
    toml.write_text('[graphs.other]\ncontext = {user = "Ada"}\n')
    settings = load_settings({"GRAPH": "agents.py:research"}, dotenv=Path("no.env"), tables=toml)
    with pytest.raises(SettingsError, match=r"^\[graphs.other\] in waymark.toml has no path, and GRAPH no graph of that"):
        list_graphs(settings)
    toml.write_text('[graphs.research]\npath = "agents.py:other"\n')
    settings = load_settings({"GRAPH": "agents.py:research"}, dotenv=Path("no.env"), tables=toml)
    with pytest.raises(SettingsError, match=r"^\[graphs.research\] in waymark.toml has the name of a graph of GRAPH"):
        list_graphs(settings)


@pytest.mark.parametrize("value", ["agents.py", "agents:graph", "agents.py:1st", "project.json", "agents.py:"])
def test_another_form_is_refused_by_its_key(value: str) -> None:
    with pytest.raises(SettingsError, match=r"^GRAPH must be the path of a Python file, a colon .* or a langgraph.json\.$"):
        load_settings({"GRAPH": value}, dotenv=Path("no.env"), tables=Path("no.toml"))


def test_a_project_of_langgraph_is_read_and_the_rest_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_project(
        tmp_path,
        **{"$schema": "https://langgra.ph/schema.json", "dependencies": ["."], "python_version": "3.12", "env": ".env"},
        graphs={"agent": "./src/agent/graph.py:graph", "critic": {"path": "critic.py:make", "description": "finds faults"}},
        store={"index": {"embed": "openai:small", "dims": 3}, "ttl": {"default_ttl": 60}},
    )
    (tmp_path / ".env").write_text("THEIR_KEY=secret\nTAKEN=theirs\n")
    environ = {"TAKEN": "ours"}
    with caplog.at_level(logging.WARNING):
        found = list_graphs(Settings(graph=str(path)), environ)
    assert [(each.name, each.path, each.variable, each.description) for each in found] == [
        ("agent", tmp_path / "src/agent/graph.py", "graph", ""),
        ("critic", tmp_path / "critic.py", "make", "finds faults"),
    ]
    assert environ == {"THEIR_KEY": "secret", "TAKEN": "ours"}
    assert [each.store_index for each in found] == 2 * [{"embed": "openai:small", "dims": 3}]
    assert caplog.messages == [f"{path}: Waymark does not use dependencies, python_version, store.ttl."]


def test_a_byte_order_mark_before_a_project_is_read_over(tmp_path: Path) -> None:
    path = write_project(tmp_path, graphs={"a": "a.py:a"}, env=".env")
    for file, content in ((path, path.read_text(encoding="utf-8")), (tmp_path / ".env", "THEIR_KEY=secret")):
        file.write_text(content, encoding="utf-8-sig")
    environ: dict[str, str] = {}
    assert [each.name for each in list_graphs(Settings(graph=str(path)), environ)] == ["a"]
    assert environ == {"THEIR_KEY": "secret"}


def test_its_environment_may_stand_in_it(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    path = write_project(tmp_path, graphs={"a": "a.py:a"}, env={"THEIR_KEY": "secret"})
    list_graphs(Settings(graph=str(path)), environ)
    assert environ == {"THEIR_KEY": "secret"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"graphs": {', r"langgraph.json, line 1, is not JSON"),
        ('{"graphs": []}', r"langgraph.json names no graphs"),
        ("[]", r"langgraph.json names no graphs"),
    ],
)
def test_a_project_that_cannot_be_read_is_one_sentence(content: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(content)
    with pytest.raises(SettingsError, match=f"^GRAPH: .*{sentence}"):
        list_graphs(Settings(graph=str(path)), {})


@pytest.mark.parametrize(
    "entry",
    ['"./a.js:graph"', '{"path": "./a.ts:graph"}', '{"path": 1}', '{"path": "./a.py:graph", "description": 1}', "null"],
)
def test_an_entry_that_is_no_graph_in_python_is_named_and_leaves_the_others(entry: str, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(AGENT)
    path = tmp_path / "langgraph.json"
    path.write_text(f'{{"graphs": {{"wrong": {entry}, "right": "./right.py:graph"}}}}')
    catalog = load_catalog(Settings(graph=str(path)))
    assert catalog is not None
    assert catalog.offer.names == ("right",)
    sentence = r"^The graph wrong cannot be loaded\. .*langgraph.json must name it as FILE.py:NAME or MODULE:NAME"
    with pytest.raises(GraphLoadError, match=sentence):
        catalog.find_graph("wrong")
    path.write_text(f'{{"graphs": {{"wrong": {entry}}}}}')
    with pytest.raises(SettingsError, match=sentence):
        load_catalog(Settings(graph=str(path)))


def test_a_name_that_is_too_long_leaves_the_other_graphs(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(AGENT)
    path = write_project(tmp_path, graphs={"n" * 61: "./right.py:graph", "right": "./right.py:graph"})
    catalog = load_catalog(Settings(graph=str(path)))
    assert catalog is not None
    assert (catalog.offer.names, catalog.offer.default) == (("right",), "n" * 60)
    assert "has a name of more than 60 characters" in catalog.offer.problems["n" * 60]


@pytest.mark.parametrize("folder", [".", "src", "parts/backend/src"])
def test_a_module_of_a_project_is_found_where_its_installation_would_find_it(tmp_path: Path, folder: str) -> None:
    package = tmp_path / folder / "their_agent"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "graph.py").touch()
    path = write_project(
        tmp_path,
        dependencies=[".", "./parts/backend", "langchain>=1"],
        graphs={"a": "their_agent.graph:g", "b": "their_agent:g"},
    )
    one, other = list_graphs(Settings(graph=str(path)), {})
    assert (one.path, one.variable) == (package / "graph.py", "g")
    assert other.path == package / "__init__.py"
    assert (tmp_path / folder).resolve() in one.folders


def test_a_module_of_an_installed_package_is_found(tmp_path: Path) -> None:
    path = write_project(tmp_path, graphs={"a": "langgraph.graph.state:StateGraph"})
    (found,) = list_graphs(Settings(graph=str(path)), {})
    assert found.path.name == "state.py"


def test_a_project_that_was_just_made_has_no_environment_yet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_project(tmp_path, graphs={"a": "a.py:a"}, env=".env")
    assert [each.name for each in list_graphs(Settings(graph=str(path)), {})] == ["a"]
    assert caplog.messages == [f"{path} names the file '.env' of environment variables, and there is no such file."]


def test_a_missing_project_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^GRAPH: there is no file .*langgraph.json\.$"):
        list_graphs(Settings(graph=str(tmp_path / "langgraph.json")), {})


def test_the_settings_of_waymark_do_not_become_the_environment_of_graphs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-of-waymark\n")
    settings = load_settings({}, dotenv=tmp_path / ".env", tables=tmp_path / "none")
    assert settings.openai_api_key is not None
    path = write_project(tmp_path, graphs={"a": "a.py:graph"}, env={"THEIR_KEY": "theirs", "SET": "not this"})
    environ = {"SET": "before"}
    list_graphs(settings.model_copy(update={"graph": str(path)}), environ)
    assert environ == {"SET": "before", "THEIR_KEY": "theirs"}
    assert "OPENAI_API_KEY" not in os.environ


def test_a_project_gets_no_setting_of_waymark_from_the_environment(tmp_path: Path) -> None:
    path = write_project(tmp_path, graphs={"a": "a.py:graph"}, env={"DATABASE_URL": "theirs", "OPENAI_API_KEY": "theirs"})
    shell = {"OPENAI_API_KEY": "sk-of-the-shell", "OPENAI_BASE_URL": "http://llm", "OTHER": "kept"}
    environ = {**shell, "MODEL": "openai:small", "DATABASE_URL": "sqlite:///ours.db", "TOOLS_ENABLED": "calculator"}
    list_graphs(Settings(graph=str(path)), environ)
    assert environ == {**shell, "DATABASE_URL": "theirs"}


def test_a_file_without_a_project_sees_the_environment_as_it_is() -> None:
    environ = {"MODEL": "openai:small"}
    list_graphs(Settings(graph="agent.py:graph"), environ)
    assert environ == {"MODEL": "openai:small"}


def test_graphs_that_cannot_be_loaded_leave_the_others_and_the_log_names_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "right.py").write_text(AGENT)
    (tmp_path / "wrong.py").write_text("import os\n\nos.environ['THEIR_KEY']\n")
    graphs = {"wrong": "./wrong.py:graph", "gone": "some_agent.graph:graph", "right": "./right.py:graph"}
    settings = Settings(graph=str(write_project(tmp_path, graphs=graphs)))
    catalog = load_catalog(settings)
    assert catalog is not None
    offer = catalog.offer
    assert (offer.names, offer.default) == (("right",), "wrong")  # no other gets its questions
    sentence = f"The graph wrong cannot be loaded. {tmp_path}/wrong.py, line 3: KeyError: 'THEIR_KEY'."
    assert offer.problems["wrong"] == sentence
    assert "The module some_agent.graph of" in offer.problems["gone"]
    assert f"{sentence} The other graphs can be used." in caplog.messages
    with pytest.raises(GraphLoadError, match="line 3: KeyError"):
        catalog.find_graph("wrong")
    assert ThreadSettings().with_changes({"graph": "right"}, Mock(specs=()), offer).graph == "right"
    with pytest.raises(InvalidSettingsError, match="line 3: KeyError"):
        ThreadSettings().with_changes({"graph": "wrong"}, Mock(specs=()), offer)


def test_people_who_are_told_apart_read_no_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "right.py").write_text(AGENT)
    (tmp_path / "wrong.py").write_text("raise OSError('postgresql://user:secret@host')\n")
    path = write_project(tmp_path, graphs={"wrong": "./wrong.py:graph", "right": "./right.py:graph"})
    catalog = load_catalog(Settings.model_construct(**{**dict(Settings()), "graph": str(path), "auth": "password"}))
    assert catalog is not None
    assert dict(catalog.offer.problems) == {"wrong": "The graph wrong cannot be loaded. The log has the reason."}
    with pytest.raises(GraphLoadError, match="The log has the reason"):
        catalog.find_graph("wrong")
    assert "secret" in caplog.text


def test_an_index_that_cannot_be_made_ends_the_start_with_the_name_of_the_graph(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(AGENT)
    definition = GraphDefinition("right", tmp_path / "right.py", "graph", store_index={"embed": "./none.py:embed"})
    with pytest.raises(GraphLoadError, match=r"The graph right cannot be loaded\. The store of the langgraph\.json"):
        GraphCatalog.load_graphs([definition])


def test_where_no_graph_can_be_loaded_the_start_ends_with_the_first_reason(tmp_path: Path) -> None:
    graphs = {"gone": "some_agent.graph:graph", "wrong": "./none.py:graph"}
    settings = Settings(graph=str(write_project(tmp_path, graphs=graphs)))
    with pytest.raises(SettingsError, match=r"^The graph gone .* The module some_agent.graph of .* is neither in that proj"):
        load_catalog(settings)
