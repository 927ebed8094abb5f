"""Build the parts of the settings: models, limits, the store, and the sessions.

Each function raises `SettingsError` for an unusable setting.
"""

from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from agent.context.prices import ModelPrice, Prices
from agent.graph.budgets import Budget
from agent.graph.state import Limits
from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from agent.models.parameters import ModelParameters
from application.settings import Settings, SettingsError
from checkpoints import Database, Store
from checkpoints.person_limits import MEGABYTE, PersonLimits
from server.session.session_authentication import PAGE_KEY_HEADER
from server.session.session_file import SessionFile, load_sessions
from server.trusted_proxy import SECRET_HEADER


def build_models(settings: Settings, prepare: Callable[[], object] = lambda: None) -> ConfiguredModels:
    """Return the models, checked and not loaded. `prepare` is called before the first is loaded."""
    keys = ProviderKeys(
        openai_api_key=settings.openai_api_key,
        openai_base_url=settings.openai_base_url,
        azure_openai_api_key=settings.azure_openai_api_key,
        azure_openai_endpoint=settings.azure_openai_endpoint,
        azure_openai_api_version=settings.azure_openai_api_version,
        azure_openai_deployment_name=settings.azure_openai_deployment_name,
        azure_openai_reasoning_effort=settings.azure_openai_reasoning_effort,
        idle_seconds=settings.model_idle_seconds,
        other_keys={name: key for name, key in settings.provider_keys.items() if key is not None},
    )
    offered, seconds = settings.models_offered or (), settings.demo_seconds_per_token
    parameters = ModelParameters(
        temperature=settings.model_temperature,
        top_p=settings.model_top_p,
        max_tokens=settings.model_max_tokens,
        reasoning_effort=settings.model_reasoning_effort,
        extra_body=settings.model_extra_body,
    )
    return ConfiguredModels(
        keys,
        settings.model,
        offered=offered,
        demo_seconds_per_token=seconds,
        parameters=parameters,
        offered_source=settings.name_source("models_offered"),
        prepare=prepare,
    )


def open_store(settings: Settings) -> Store:
    """Open the database. A file is locked for this process."""
    return Store(Database.open_url(settings.connection_url))


def build_person_limits(settings: Settings) -> PersonLimits:
    storage = settings.person_storage_mb
    return PersonLimits(settings.person_runs, settings.person_tokens_a_day, None if storage is None else storage * MEGABYTE)


def open_sessions(folder: Path, port: int) -> SessionFile:
    try:
        return load_sessions(folder, port)
    except OSError as error:
        raise SettingsError(f"DATA_DIR {folder} cannot be used: {error.strerror}.") from error


def check_access(settings: Settings) -> None:
    """Refuse a sign-in that would admit too many people, or nobody. Raises `SettingsError`."""
    is_loopback = settings.host == "localhost" or ip_address(settings.host).is_loopback
    if settings.auth == "proxy":
        for field in ("public_url", "proxy_networks", "proxy_secret"):
            if not getattr(settings, field):
                raise SettingsError(f"AUTH=proxy needs {field.upper()}: see docs/operations.md.")
        names = {"PROXY_USER_HEADER": settings.proxy_user_header, "PROXY_GROUPS_HEADER": settings.proxy_groups_header}
        others = {SECRET_HEADER, PAGE_KEY_HEADER}
        for key, name in names.items():
            if name.lower() in others:
                raise SettingsError(f"{key} cannot be {name}: it names another thing.")
            others.add(name.lower())
        return
    if settings.auth == "oidc":
        _check_provider(settings)
    if not is_loopback and settings.auth in ("password", "oidc"):
        if not (settings.public_url or "").startswith("https://"):
            raise SettingsError(
                f"HOST {settings.host} can be reached from other machines, and Waymark speaks no TLS: sign-ins would be "
                "readable on the way. Set PUBLIC_URL to the https:// address of a proxy that adds TLS, or leave HOST at "
                "127.0.0.1."
            )
    elif not is_loopback:
        raise SettingsError(
            f"HOST {settings.host} can be reached from other machines, and AUTH={settings.auth} is for one person on this "
            "one. Set AUTH=proxy, behind a proxy that signs people in, or AUTH=oidc or AUTH=password, or leave HOST at "
            "127.0.0.1."
        )


def _check_provider(settings: Settings) -> None:
    for field in ("oidc_issuer", "oidc_client_id"):
        if not getattr(settings, field):
            raise SettingsError(f"AUTH=oidc needs {field.upper()}: see docs/operations.md.")
    if not (settings.oidc_admin_groups or settings.oidc_member_groups or settings.oidc_reader_groups):
        raise SettingsError(
            "AUTH=oidc needs OIDC_ADMIN_GROUPS, OIDC_MEMBER_GROUPS or OIDC_READER_GROUPS: whoever is in none is refused."
        )


def build_prices(settings: Settings) -> Prices:
    return {spec: ModelPrice(price.input, price.output, price.cached) for spec, price in settings.prices.items()}


def check_titles(settings: Settings, models: ConfiguredModels) -> None:
    """Refuse an unusable model for titles. Raises `SettingsError`."""
    if settings.titles_model is None:
        return
    try:
        models.check_model(settings.titles_model, settings.name_source("titles_model"))
    except ModelConfigurationError as error:
        raise SettingsError(str(error)) from error


def build_limits(settings: Settings) -> Limits:
    return Limits(
        idle_seconds=settings.model_idle_seconds,
        max_window_tokens=settings.model_window,
        tool_seconds=settings.limits_tool_seconds,
        shutdown_seconds=settings.shutdown_seconds,
        run=Budget(settings.limits_run_answers, settings.limits_run_calls, settings.limits_run_seconds),
        agent=Budget(settings.limits_agent_answers, settings.limits_agent_calls, settings.limits_agent_seconds),
        branch=Budget(settings.limits_branch_answers, settings.limits_branch_calls, settings.limits_branch_seconds),
        max_depth=settings.limits_depth,
    )
