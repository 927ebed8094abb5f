"""Loading the graphs of the settings. Only a setting that names one imports LangGraph."""

import logging
from typing import TYPE_CHECKING

from agent.run.blocking import BlockingPool
from agent.run.hub import RunHub
from agent.tracing.environment import switch_off_library_tracing
from application.extension import BuildDriver
from application.settings import Settings, SettingsError
from checkpoints import Runs, Store
from extensions.graphs.definitions import GraphLoadError
from extensions.graphs.graph_settings import list_graphs

if TYPE_CHECKING:
    from extensions.graphs.catalog import GraphCatalog
    from extensions.graphs.driver import GraphDriver

_log = logging.getLogger(__name__)


def load_graphs(settings: Settings) -> BuildDriver | None:
    """Import the files of the graphs in the settings; None if there are none. Raises `SettingsError`."""
    catalog = load_catalog(settings)
    if catalog is None:
        return None

    def build_driver(store: Store, hub: RunHub, blocking: BlockingPool) -> "GraphDriver":
        from extensions.graphs.driver import GraphDriver  # noqa: PLC0415  (LangGraph)
        from extensions.graphs.savers import Savers  # noqa: PLC0415  (as above)

        return GraphDriver(store, Runs(store), hub, catalog, Savers(store), blocking)

    return build_driver


def list_graph_names(settings: Settings) -> list[str]:
    """Return the names of the graphs in the settings, without importing any."""
    return [each.name for each in list_graphs(settings, {})]


def load_catalog(settings: Settings) -> "GraphCatalog | None":
    """Import the files of the graphs in the settings; None if there are none, without importing any library.

    The log names the failed graphs. Raises `SettingsError` with the file and the line if all of them fail.
    """
    definitions = list_graphs(settings)
    if not definitions:
        return None
    # A langgraph.json may have set its variables again.
    switch_off_library_tracing()
    from extensions.graphs.catalog import GraphCatalog  # noqa: PLC0415  (LangGraph)

    try:
        usual = definitions[0].name if settings.graph else ""
        # A reason can contain paths and addresses of the server.
        has_people = settings.has_people
        catalog = GraphCatalog.load_graphs(definitions, usual, hides_reasons=has_people)
    except GraphLoadError as error:
        raise SettingsError(str(error)) from error
    for problem in catalog.problems.values():
        _log.warning("%s The other graphs can be used.", problem)
    return catalog
