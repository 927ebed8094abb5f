"""The data of the settings dialog."""

from types import SimpleNamespace
from typing import Any

from agent.models.catalog import ConfiguredModels
from agent.models.keys import ProviderKeys
from agent.models.parameters import ModelParameters
from agent.settings import GraphOffer
from components.panels import settings


def test_the_list_names_the_graphs_that_cannot_be_chosen_with_the_reason() -> None:
    models = ConfiguredModels(ProviderKeys(), "demo")
    runner = SimpleNamespace(default_policy="ask", graphs=GraphOffer(("right",), "right", {"wrong": "It cannot be loaded."}))
    services: Any = SimpleNamespace(models=models, runner=runner, describe_demo=lambda _: None, store=None)
    listed = settings._read_thread_settings(services, None)["models"]
    shown = {each["name"]: each["problem"] for each in listed}
    assert {name: problem for name, problem in shown.items() if problem} == {"graph:wrong": "It cannot be loaded."}
    assert "graph:right" in shown


def test_the_dialog_shows_the_defaults_of_the_app_and_no_extra_body() -> None:
    parameters = ModelParameters(temperature=0.2, reasoning_effort="low", extra_body='{"key": "secret"}')
    models = ConfiguredModels(ProviderKeys(), "demo", parameters=parameters)
    runner = SimpleNamespace(default_policy="ask", graphs=GraphOffer())
    services: Any = SimpleNamespace(models=models, runner=runner, describe_demo=lambda _: None, store=None)
    defaults = settings._read_thread_settings(services, None)["defaults"]
    assert defaults == {"temperature": 0.2, "reasoning_effort": "low", "extra_body": "set for the app"}
