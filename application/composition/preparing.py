"""Prepare the parts of the settings and the extensions, checked and not joined yet."""

from collections.abc import Callable, Sequence
from pathlib import Path

from agent.models.catalog import ConfiguredModels
from agent.models.replaceable import ReplaceableModels
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.protocol import NO_TRACING, Tracer
from application.composition import agent_factory, factory
from application.composition.connecting import EnvFileConnector
from application.composition.loading import AgentLoader, LoadedAgent
from application.composition.service_factory import Parts
from application.extension import Extension, Processes, Role, build_first
from application.settings import Settings, SettingsError
from checkpoints import EVERYBODY, Store, StoreUnavailableError, act_for


def prepare_parts(
    settings: Settings,
    extensions: Sequence[Extension],
    role: Role,
    store: Store | None,
    models: ConfiguredModels | None,
    tracer: Tracer | None,
    env_file: Path | None,
    on_time_travel: Sequence[Callable[[TimeTravelEvent], None]],
) -> Parts:
    """Build the parts that were not passed in. The store is opened last: if a setting is refused, nothing is open yet."""

    def load_agent() -> LoadedAgent:
        return agent_factory.load_agent(settings, configured, [build(settings, opened) for build in tools.values()])

    tools = {name: build for each in extensions for name, build in each.tools.items()}
    loader = AgentLoader(load_agent)
    configured = models or factory.build_models(settings, prepare=loader.load)
    catalog = ReplaceableModels(configured)
    # A key would be for all people.
    connector = EnvFileConnector(catalog, loader.load, env_file) if env_file and not settings.has_people else None
    tracer = tracer or build_first((each.build_tracer for each in extensions), settings) or NO_TRACING
    agent_factory.check_tools(settings, tools)
    factory.check_titles(settings, configured)
    agents = agent_factory.build_agents(settings, configured, tools)
    build_driver = build_first((each.load_graphs for each in extensions), settings)
    opened = store or factory.open_store(settings)
    return Parts(
        settings=settings,
        store=opened,
        models=catalog,
        tracer=tracer,
        loader=loader,
        agents=agents,
        connector=connector,
        build_driver=build_driver,
        processes=_prepare_store(settings, extensions, opened, role),
        build_followers=[each.build_follower for each in extensions if each.build_follower],
        on_time_travel=on_time_travel,
    )


def _prepare_store(settings: Settings, extensions: Sequence[Extension], store: Store, role: Role) -> Processes | None:
    """Make the extensions' tables, and keep people apart. Returns the other processes on the database, if there are any."""
    processes = _join_processes(settings, extensions, store, role)
    for tables in [each.tables for each in extensions if each.tables is not None]:
        with act_for(EVERYBODY), store.database.begin_write("tables") as connection:
            tables.create_all(connection)
    store.meter.limits = factory.build_person_limits(settings)
    if settings.has_people:
        store.database.separate_owners(has_accounts=settings.auth != "proxy")
    return processes


def _join_processes(settings: Settings, extensions: Sequence[Extension], store: Store, role: Role) -> Processes | None:
    try:
        processes = build_first((each.join_processes for each in extensions), settings, store, role)
        if role != "all" and processes is None:
            raise SettingsError(f"{'work' if role == 'work' else 'serve --web'} needs a PostgreSQL: set DATABASE_URL.")
    except (StoreUnavailableError, SettingsError):
        store.database.close()
        raise
    return processes
