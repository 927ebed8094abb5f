"""The settings, and their only reader: from the environment, `.env` and `waymark.toml`.

Each field is the key of the same name in capitals. `waymark.toml` has the fields that `PLAIN_TABLES` lists, where `enabled`
in the table `[tools]` is `tools_enabled`, and the named tables, which are nowhere else (`named_tables`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, PrivateAttr, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from agent.models.parameters import MAX_ANSWER_TOKENS, MAX_TEMPERATURE, MAX_TOP_P
from application.named_tables import AgentDefinition, ExtensionTable, GraphTable, McpServerDefinition, PriceDefinition
from application.setting_files import SettingsError, drop_empty, read_dotenv, read_tables
from application.setting_types import (
    GRAPH_PATH,
    GRAPH_RULE,
    GROUPS_RULE,
    LABEL_RULE,
    MIN_SECRET_CHARS,
    NAME_RULE,
    NAMED_TABLES,
    PRICE_UNIT,
    PROVIDER_KEYS,
    Address,
    Count,
    DatabaseUrl,
    Effort,
    ExistingFolder,
    ExtraBody,
    Folder,
    Host,
    Issuer,
    Key,
    Label,
    Labels,
    MetricsKey,
    Name,
    Names,
    Networks,
    Origin,
    Port,
    PortOrNone,
    ProxyHeader,
    Scopes,
    Seconds,
    Secret,
    SecretHeaders,
    TracingEnvironment,
    UrlPrefix,
    refuse_bool,
)
from checkpoints.values.limits import MAX_EXTRA_BODY_CHARS

__all__ = ["Settings", "SettingsError", "list_own_keys", "load_settings"]


class Settings(BaseSettings):
    """The settings. A field's description completes the sentence "KEY must be ...".

    Only `load_settings` reads the environment. The constructor reads nothing, so tests, and two apps in the same process,
    use their own values.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    # agent.models knows the usable names. None takes the first model that the keys allow.
    model: str | None = None
    model_idle_seconds: float = Field(60.0, gt=0, le=3600, description="a number of seconds above 0 and up to 3600")
    model_window: int | None = Field(None, ge=1_000, description="a number of tokens, at least 1000")
    model_temperature: float | None = Field(
        None, ge=0, le=MAX_TEMPERATURE, description=f"a number from 0 to {MAX_TEMPERATURE}"
    )
    model_top_p: float | None = Field(None, ge=0, le=MAX_TOP_P, description=f"a number from 0 to {MAX_TOP_P}")
    model_max_tokens: int | None = Field(
        None, ge=1, le=MAX_ANSWER_TOKENS, description=f"a whole number of tokens from 1 to {MAX_ANSWER_TOKENS:,}"
    )
    model_reasoning_effort: Effort = None
    model_extra_body: ExtraBody = Field(
        None, description=f"a JSON object of at most {MAX_EXTRA_BODY_CHARS:,} characters, or a table in waymark.toml"
    )
    demo_seconds_per_token: float = Field(0.02, ge=0, le=10, description="a number of seconds from 0 to 10")

    openai_api_key: Key = None
    openai_base_url: Address = None
    azure_openai_api_key: Key = None
    azure_openai_endpoint: Address = None
    azure_openai_api_version: str | None = None
    azure_openai_deployment_name: str | None = None
    # The effort is for Azure only; any other effort takes precedence.
    azure_openai_reasoning_effort: Effort = None
    # Keys are by their names in the environment.
    provider_keys: dict[str, Key] = {}
    tavily_api_key: Key = None
    tavily_base_url: Address = None
    langfuse_public_key: Key = None
    langfuse_secret_key: Key = None
    langfuse_host: Address = "https://cloud.langfuse.com"
    langfuse_prompt_label: str = "production"
    langfuse_mask: Literal["on", "off"] = Field("off", description="on or off")
    langfuse_tracing_environment: TracingEnvironment = None
    langfuse_release: Label | None = Field(None, description=LABEL_RULE)
    langfuse_user: Label | None = Field(None, description=LABEL_RULE)
    langfuse_tags: Labels = None
    # It is the address of an OpenTelemetry collector, without /v1/traces.
    otlp_endpoint: Address = None
    otlp_headers: SecretHeaders = None

    # Without a graph, new conversations begin with the built-in agent.
    graph: str | None = Field(
        None, pattern=rf"{GRAPH_PATH}|^(.*/)?langgraph\.json$", description=f"{GRAPH_RULE}, or a langgraph.json"
    )
    files_dir: ExistingFolder = None
    time_travel: Literal["off", "ask", "allow"] = Field("ask", description="off, ask or allow")
    message_numbers: Literal["msg", "short", "off"] = Field("msg", description="msg, short or off")
    # "on" costs another call of the model after a turn.
    judge: Literal["on", "off"] = Field("off", description="on or off")
    # "on" costs another call of the model in a conversation.
    titles: Literal["on", "off"] = Field("on", description="on or off")
    # Without a model here, titles come from the conversation's own model.
    titles_model: str | None = None
    # Without a list, all tools that can work are enabled.
    tools_enabled: Names = Field(None, description="a list of tools' names")
    # These tools wait for a person's approval.
    tools_approval: Names = Field(None, description="a list of tools' names")
    models_offered: Names = Field(None, description="a list of models, such as openai:NAME")
    # These limits count all agents and branches of a run together.
    limits_run_answers: Count = 500
    limits_run_calls: Count = 1_000
    limits_run_seconds: Seconds = 3_600.0
    # These limits are for the main agent in a run, and for a sub-agent in each question.
    limits_agent_answers: Count = 100
    limits_agent_calls: Count = 200
    limits_agent_seconds: Seconds = 1_800.0
    # These limits are for each branch of a fork.
    limits_branch_answers: Count = 50
    limits_branch_calls: Count = 100
    limits_branch_seconds: Seconds = 600.0
    limits_tool_seconds: Seconds = 60.0
    limits_depth: int = Field(5, ge=1, le=20, description="a whole number from 1 to 20")
    extensions: Names = Field(None, description="a list of names of installed extensions")
    extension: dict[Name, ExtensionTable] = Field({}, description="a table with the settings of an extension")
    graphs: dict[Name, GraphTable] = Field(
        {}, description="a table with a path, or with the context or the messages_key of a graph of GRAPH"
    )
    agents: dict[Name, AgentDefinition] = Field({}, description="a table with instructions")
    mcp: dict[Name, McpServerDefinition] = Field({}, description="a table with either command or url")
    # Prices are by the model's whole name.
    prices: dict[str, PriceDefinition] = Field(
        {}, description=f"a table such as {{input = 0.25, output = 2.0}}, in {PRICE_UNIT}"
    )
    data_dir: Folder = Path("data")
    database_url: DatabaseUrl = None
    # One process writes this many runs at once, on PostgreSQL.
    worker_runs: Count = 100
    # Tools and user graphs have this time when the process ends. A tool has 60 seconds.
    shutdown_seconds: Seconds = 70.0
    # This many runs of all processes may wait for a process with room.
    waiting_runs: Count = 1_000
    # A person may have this many runs at the same time.
    person_runs: Count | None = Field(None, description="a whole number from 1 to 100,000")
    person_tokens_a_day: int | None = Field(None, ge=1, description="a whole number of tokens, at least 1")
    person_storage_mb: int | None = Field(None, ge=1, description="a whole number of megabytes, at least 1")
    host: Host = "127.0.0.1"
    port: Port = 8050
    # `work` answers on this port, for programs that watch it.
    work_port: PortOrNone = None
    auth: Literal["token", "none", "proxy", "password", "oidc"] = Field(
        "token", description="token, none, proxy, password or oidc"
    )
    # Entries of the audit log are kept for this many days.
    audit_days: Count = 365
    # It is the page's origin as browsers see it. Without it, HOST and PORT apply.
    public_url: Origin = None
    # Waymark is below this path of its host. A proxy may take it off, or not.
    url_prefix: UrlPrefix = "/"
    proxy_networks: Networks = None
    proxy_secret: Secret | None = Field(
        None, description=f"a secret of at least {MIN_SECRET_CHARS} letters, digits and signs, without spaces"
    )
    proxy_user_header: ProxyHeader = "X-Forwarded-User"
    proxy_groups_header: ProxyHeader = "X-Forwarded-Groups"
    proxy_admin_groups: Names = Field(None, description=GROUPS_RULE)
    proxy_reader_groups: Names = Field(None, description=GROUPS_RULE)
    sign_out_url: str | None = Field(
        None, pattern=r"^(https?://|/)[^\s]*$", description="an address, or a path of the proxy such as /oauth2/sign_out"
    )
    oidc_issuer: Issuer | None = Field(
        None, description="the https:// address of a provider of OpenID Connect, as it names itself"
    )
    oidc_client_id: Label | None = Field(None, description=LABEL_RULE)
    # A public client has no secret.
    oidc_client_secret: Key = None
    oidc_scopes: Scopes = "openid profile email"
    # Without names, the claim is "groups".
    oidc_groups_claim: Names = Field(None, description="a list of names of claims")
    oidc_admin_groups: Names = Field(None, description=GROUPS_RULE)
    oidc_member_groups: Names = Field(None, description=GROUPS_RULE)
    oidc_reader_groups: Names = Field(None, description=GROUPS_RULE)
    oidc_session_hours: int = Field(12, ge=1, le=720, description="a whole number of hours from 1 to 720")
    # Without a key, there is no /metrics.
    metrics_key: MetricsKey | None = Field(
        None, description="a secret of at least 16 letters, digits and signs, without spaces"
    )
    log_format: Literal["text", "json"] = Field("text", description="text or json")

    # For the fields in waymark.toml, it has the table, key and file.
    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth(cls, value: Any) -> Any:
        return refuse_bool(value)

    def name_source(self, field: str) -> str:
        """Return the key of a field for an error, as the person wrote it: in the environment, or in waymark.toml."""
        return self._sources.get(field, field.upper())

    @property
    def has_people(self) -> bool:
        """Whether several people come in, each with what is theirs."""
        return self.auth in ("proxy", "password", "oidc")

    @property
    def connection_url(self) -> str:
        """The address of the database, by default a file in DATA_DIR. It may contain a password."""
        return self.database_url.get_secret_value() if self.database_url else f"sqlite:///{self.data_dir / 'waymark.db'}"

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def load_settings(
    environ: Mapping[str, str] | None = None, *, dotenv: Path = Path(".env"), tables: Path = Path("waymark.toml")
) -> Settings:
    """Read `waymark.toml`, then `.env`, then the environment; later values win. An empty value counts as not set.

    Raises `SettingsError`.
    """
    in_file = read_dotenv(dotenv)
    names = _map_keys()
    for key in in_file:
        if key not in (*names, *PROVIDER_KEYS) and (meant := get_close_matches(key.upper(), names, n=1, cutoff=0.8)):
            raise SettingsError(f"{key} in {dotenv.name} is not a setting; {meant[0]} is.")
    in_tables, named = read_tables(tables)
    in_environment = in_file | drop_empty(os.environ if environ is None else environ)
    given = {key: each.value for key, each in in_tables.items()} | in_environment
    sources = {names[key]: each.source for key, each in in_tables.items() if key not in in_environment}
    named["provider_keys"] = {key: given[key] for key in PROVIDER_KEYS if key in given}
    try:
        settings = Settings(**{names[key]: value for key, value in given.items() if key in names}, **named)
    except ValidationError as error:
        # "from None" is here because pydantic's own text is for developers and would show values.
        raise SettingsError(_describe_error(error.errors()[0], tables.name, sources)) from None
    settings._sources.update(sources)
    return settings


def _map_keys() -> dict[str, str]:
    """Return the fields by their keys in the environment."""
    return {name.upper(): name for name in Settings.model_fields if name not in (*NAMED_TABLES, "provider_keys")}


def list_own_keys() -> list[str]:
    """Return the keys read by Waymark only. Libraries read the keys of providers, Tavily and Langfuse themselves."""
    return [key for key in _map_keys() if not key.startswith(("OPENAI_", "AZURE_OPENAI_", "TAVILY_", "LANGFUSE_"))]


def _describe_error(error: ErrorDetails, file: str, sources: Mapping[str, str]) -> str:
    """Describe an invalid value, by its key or by its table and key."""
    place = [str(part) for part in error["loc"]]
    if place[0] == "provider_keys":
        return f"{place[1]} must be {Settings.model_fields['openai_api_key'].description}."
    field = Settings.model_fields[place[0]]
    if place[0] not in NAMED_TABLES:
        return f"{sources.get(place[0], place[0].upper())} must be {field.description}."
    if place[2:3] == ["[key]"]:
        return f"The name of [{_format_table_name(place[:2])}] in {file} must be {NAME_RULE}."
    table, key = f"[{_format_table_name(place[:2])}]", place[2] if len(place) > 2 else ""
    known = get_args(field.annotation)[1].model_fields
    if key and key not in known:
        return f"{table} {key} in {file} is not a setting."
    wanted = known[key].description if key else field.description
    return f"{table}{key and f' {key}'} in {file} must be {wanted}."


def _format_table_name(names: Iterable[str]) -> str:
    """Return a table's name in TOML's notation."""
    return ".".join(name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"' for name in names)
