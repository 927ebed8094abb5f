"""The settings of a conversation: what can be chosen, and what their form shows."""

import json
from types import SimpleNamespace
from typing import Any

from agent.models.catalog import ConfiguredModels
from agent.models.keys import ProviderKeys
from agent.models.parameters import DEFAULT_PARAMETERS, ModelParameters
from agent.settings import GraphOffer, ThreadSettings
from components.model_choice import list_models
from components.replies import to_json
from components.settings_form import ShownSettings, build_settings_form, read_choice


def show(choice: ThreadSettings, parameters: ModelParameters = DEFAULT_PARAMETERS) -> str:
    """The whole form, as the page gets it."""
    models = ("openai:a", "openai-responses:a", "demo")
    shown = ShownSettings("thread", choice, choice, models, "openai:a", parameters, policy="ask", read_only=None)
    return to_json(build_settings_form(shown)).decode()


def test_the_list_names_the_graphs_that_cannot_be_chosen_with_the_reason() -> None:
    models = ConfiguredModels(ProviderKeys(), "demo")
    runner = SimpleNamespace(graphs=GraphOffer(("right",), "right", {"wrong": "It cannot be loaded."}))
    services: Any = SimpleNamespace(models=models, runner=runner, describe_demo=lambda _: None)
    shown = {each["name"]: each["problem"] for each in list_models(services, with_graphs=True)}
    assert {name: problem for name, problem in shown.items() if problem} == {"graph:wrong": "It cannot be loaded."}
    assert "graph:right" in shown


def test_the_form_shows_the_defaults_of_the_server_and_no_extra_body() -> None:
    parameters = ModelParameters(temperature=0.2, reasoning_effort="low", extra_body='{"key": "secret"}')
    form = show(ThreadSettings(), parameters)
    for text in ('"0.2"', "low (default)", "set on the server"):
        assert text in form
    assert "secret" not in form


def test_a_model_that_is_gone_is_named_and_those_of_one_name_keep_their_providers() -> None:
    form = json.loads(show(ThreadSettings(model="openai:gone")))
    [select] = [each for each in form[0]["props"]["children"] if each["type"] == "Select"]
    labels = [each["label"] for each in select["props"]["options"]]
    assert labels == ["openai:a (default)", "openai-responses:a", "demo", "gone (no longer offered)"]
    assert select["props"]["value"] == "openai:gone"


def test_an_empty_value_of_a_list_comes_back_as_one_and_a_text_stays_as_it_is() -> None:
    shown = {"model": "default", "instructions": "default", "temperature": 0.2, "top_p": None, "time_travel": "ask"}
    wanted = {"model": "", "instructions": "default", "temperature": "0.2", "top_p": "", "time_travel": ""}
    assert read_choice(shown, "ask", {}) == wanted


def test_a_policy_is_chosen_only_where_it_differs_from_the_one_that_was_shown() -> None:
    assert read_choice({"time_travel": "ask"}, "ask", {"time_travel": "off"}) == {"time_travel": "ask"}
    assert read_choice({"time_travel": "off"}, "ask", {"time_travel": "off"}) == {"time_travel": "off"}
    assert read_choice({"time_travel": "allow"}, "ask", {}) == {"time_travel": "allow"}
