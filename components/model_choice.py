"""The choice of models and graphs for a conversation, as the composer shows it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from agent.models.providers import shorten_spec_among
from agent.settings import NO_GRAPHS, ThreadSettings
from checkpoints import Thread
from components.services import Services
from words import _

# The prefix stands before a graph's name, in the place of a model's provider.
GRAPH_PREFIX = "graph:"


class ModelItem(TypedDict):
    """A model or a graph in the list.

    `label` is its name in its `group`, which says where its requests go. `demo` is the hint of the demo model, `graph` the
    graph's name in the settings, and `problem` the reason why it cannot be chosen.
    """

    name: str
    label: str
    group: str
    demo: str | None
    graph: str
    problem: str | None


def describe_answerer(services: Services, thread: Thread | None) -> dict[str, Any]:
    """Describe what answers a conversation, and the other choices. A graph can be chosen only before the first message."""
    settings = ThreadSettings.from_thread(thread) if thread else ThreadSettings(graph=services.runner.graphs.default)
    usual = services.models.default_spec
    name = f"{GRAPH_PREFIX}{settings.graph}" if settings.graph else settings.model or usual
    return {
        "model": name,
        "demo": None if settings.graph else services.describe_demo(name),
        "models": [] if thread and settings.graph else list_models(services, with_graphs=thread is None),
        "default": usual,
        "can_connect": services.connector is not None,
        "graph": settings.graph,
        "forms": _describe_forms(services, [settings.graph] if thread else services.runner.graphs.names),
    }


def _describe_forms(services: Services, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Describe the inputs of graphs beside messages, by graph name. Graphs without such inputs are left out."""
    forms = {name: services.runner.find_form(name) for name in names}
    return {name: asdict(form) for name, form in forms.items() if form}


def list_models(services: Services, *, with_graphs: bool) -> list[ModelItem]:
    """Return the available models, after the graphs if wanted."""
    offer = services.runner.graphs if with_graphs else NO_GRAPHS
    graphs = dict.fromkeys(offer.names) | dict(offer.problems)
    kind = GRAPH_PREFIX.removesuffix(":")
    return [
        *(
            ModelItem(name=f"{GRAPH_PREFIX}{name}", label=name, group=kind, demo=None, graph=name, problem=graphs[name])
            for name in graphs
        ),
        *(_describe_model(services, spec) for spec in services.models.specs),
    ]


def _describe_model(services: Services, spec: str) -> ModelItem:
    specs = services.models.specs
    prefix, separator, rest = spec.partition(":")
    if provider := services.models.label_provider(spec):
        label, group = shorten_spec_among(spec, specs), _(provider)
    elif separator:
        label, group = rest, prefix
    else:
        label, group = spec, spec if any(each.startswith(f"{spec}:") for each in specs) else _("Others")
    return ModelItem(name=spec, label=label, group=group, demo=services.describe_demo(spec), graph="", problem=None)
