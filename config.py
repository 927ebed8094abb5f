"""The settings: the only reader of the environment, of `.env` and of `waymark.toml`.

Each field is the key of the same name in capitals; in `waymark.toml`, `enabled` in the table `[tools]` is `tools_enabled`.
Named tables exist in `waymark.toml` alone: `[agents.NAME]`, `[graphs.NAME]`, `[mcp.NAME]` and `[prices."MODEL"]`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from agent.models.parameters import (
    MAX_ANSWER_TOKENS,
    MAX_TEMPERATURE,
    MAX_TOP_P,
    REASONING_EFFORTS,
    ReasoningEffort,
    check_extra_body,
    write_extra_body,
)
from checkpoints.limits import MAX_EXTRA_BODY_CHARS


class SettingsError(ValueError):
    """A setting that cannot be used; the text is one sentence that names the key and never shows a value."""


def _check_key(value: SecretStr | None) -> SecretStr | None:
    """Refuse characters that a header cannot contain: the error of the HTTP client would show the key."""
    if value and not all("!" <= character <= "~" for character in value.get_secret_value()):
        raise ValueError
    return value


def _check_header(value: SecretStr) -> SecretStr:
    if not all(" " <= character <= "~" for character in value.get_secret_value()):
        raise ValueError
    return value


def _check_environment(value: str | None) -> str | None:
    """Refuse the names of environments that Langfuse refuses."""
    if value is not None and not re.fullmatch(r"(?!langfuse)[a-z0-9_-]{1,40}", value):
        raise ValueError
    return value


def _resolve_folder(path: Path | None) -> Path | None:
    if path is not None and not path.expanduser().is_dir():
        raise ValueError
    return path and path.expanduser().resolve()


_DATABASE_URL = re.compile(r"sqlite:///.*[^/.]|postgresql\+psycopg://[^\s/]*/[^\s/?]+(\?\S+)?")


def _check_database_url(value: SecretStr | None) -> SecretStr | None:
    """Refuse all but a file of SQLite and a database of PostgreSQL. A secret: it contains the password."""
    if value and not _DATABASE_URL.fullmatch(value.get_secret_value()):
        raise ValueError
    return value


def _split_list(value: Any) -> Any:
    """Also as one text, with commas: an environment knows no lists."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _write_json(value: Any) -> Any:
    """Return a JSON object as text; an environment knows no tables."""
    if isinstance(value, str):
        return check_extra_body(value)
    return None if value is None else write_extra_body(value)


def _refuse_bool(value: Any) -> Any:
    """Refuse true and false of TOML, which Pydantic takes for the numbers 1 and 0."""
    if isinstance(value, bool):
        raise ValueError
    return value


def _check_host(value: str) -> str:
    if value != "localhost":
        ip_address(value)
    return value


def _parse_networks(value: Any) -> Any:
    """Parse networks, none of which may be the whole world."""
    networks = None if value is None else tuple(ip_network(each) for each in _split_list(value))
    if not all(each.prefixlen for each in networks or ()):
        raise ValueError
    return networks


def _clean_origin(value: str | None) -> str | None:
    """Return an address as a browser names its origin."""
    origin = value and value.rstrip("/").lower()
    return origin and re.sub("(?<=^https://)(.*):443$|(?<=^http://)(.*):80$", r"\1\2", origin)


def _check_scopes(value: str) -> str:
    if "openid" not in value.split() or not value.isascii() or not value.isprintable():
        raise ValueError
    return value


def _check_issuer(value: str) -> str:
    """Refuse an address without TLS, but on this machine, and what no issuer has."""
    parts = urlsplit(value)
    if not all("!" <= character <= "~" for character in value):
        raise ValueError
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    is_plain = parts.hostname and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not is_plain or not (is_local or parts.scheme == "https"):
        raise ValueError
    return value


def _check_secret(value: SecretStr) -> SecretStr:
    secret = value.get_secret_value()
    if len(secret) < MIN_SECRET_CHARS or not all("!" <= character <= "~" for character in secret):
        raise ValueError
    return value


Network = IPv4Network | IPv6Network
Key = Annotated[
    SecretStr | None, AfterValidator(_check_key), Field(description="an API key: letters, digits and signs, without spaces")
]
Address = Annotated[
    str | None, Field(pattern=r"^https?://[^\s/]+", description="an address that begins with http:// or https://")
]


Count = Annotated[int, Field(ge=1, le=100_000, description="a whole number from 1 to 100,000")]
Seconds = Annotated[float, Field(gt=0, le=604_800, description="a number of seconds above 0 and up to 604,800")]
Effort = Annotated[ReasoningEffort | None, Field(description=f"one of {', '.join(REASONING_EFFORTS)}")]
Names = Annotated[tuple[str, ...] | None, BeforeValidator(_split_list)]
ExtraBody = Annotated[str | None, BeforeValidator(_write_json)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Label = Annotated[str, Field(min_length=1, max_length=200)]
MIN_SECRET_CHARS = 32
GROUPS_RULE = "a list of groups, as the provider names them"
LABEL_RULE = "a text of at most 200 characters"
PRICE_UNIT = "US dollars per million tokens"
PRICE_RULE = f"a number of {PRICE_UNIT}, at least 0"
NAME_RULE = "small letters, digits and _, at most 31, beginning with a letter"
GRAPH_PATH = r"^.+\.py:[A-Za-z_]\w*$"
GRAPH_RULE = "the path of a Python file, a colon and the name of a graph in it, such as agents.py:graph"
PLAIN_TABLES = {  # of waymark.toml
    "tools": ("enabled", "approval"),
    "models": ("offered",),
    "oidc": ("groups_claim", "admin_groups", "member_groups", "reader_groups"),  # a group's name may have a comma
    "model": ("temperature", "top_p", "max_tokens", "reasoning_effort", "extra_body"),
    "limits": (
        *(f"{owner}_{unit}" for owner in ("run", "agent", "branch") for unit in ("answers", "calls", "seconds")),
        *("tool_seconds", "depth"),
    ),
}
NAMED_TABLES = ("agents", "graphs", "mcp", "prices")  # its tables of tables
PROVIDER_KEYS = (  # of the providers that are no settings of ours otherwise (agent.models.providers)
    "ANTHROPIC_API_KEY",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)


class _TableModel(BaseModel):
    """One of the named tables. Descriptions complete the sentence "KEY must be ...", as below."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth(cls, value: Any, info: ValidationInfo) -> Any:
        return value if cls.model_fields[str(info.field_name)].annotation is bool else _refuse_bool(value)


class AgentDefinition(_TableModel):
    """A sub-agent: its instructions, the names of its tools, its description for other agents, and its model."""

    instructions: str = Field(min_length=1, description="a text")
    tools: tuple[str, ...] = Field((), description="a list of tools' names")
    description: str = Field("", description="a text")
    model: str | None = Field(None, description="a model, such as openai:NAME")


class McpServerDefinition(_TableModel):
    """An MCP server: a program that communicates through its input and output, or an address.

    A program gets no keys of Waymark's own environment, only `env`. `approval`: its tools wait for a person's approval.
    """

    command: str | None = Field(None, min_length=1, description="the name or the path of a program")
    args: tuple[str, ...] = Field((), description="a list of texts")
    env: dict[str, SecretStr] = Field({}, description="a table of texts")
    url: Address = None
    headers: dict[str, Annotated[SecretStr, AfterValidator(_check_header)]] = Field(
        {}, description="a table of texts in ASCII"
    )
    approval: bool = Field(True, description="true or false")

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError
        return self


class GraphTable(_TableModel):
    """A LangGraph graph: a Python file and a variable in it, its description for people, and the context of its runs.

    Without a path, it adds a context to a graph of `GRAPH`.
    """

    path: str | None = Field(None, pattern=GRAPH_PATH, description=GRAPH_RULE)
    description: str = Field("", description="a text")
    context: dict[str, Any] = Field({}, description="a table")


class PriceDefinition(_TableModel):
    """The price of a model in US dollars per million tokens. `cached` input costs as much as other input if it is None."""

    input: float = Field(ge=0, allow_inf_nan=False, description=PRICE_RULE)
    cached: float | None = Field(None, ge=0, allow_inf_nan=False, description=PRICE_RULE)
    output: float = Field(ge=0, allow_inf_nan=False, description=PRICE_RULE)


class Settings(BaseSettings):
    """The settings. A field's description completes the sentence "KEY must be ...".

    Constructing it reads nothing, so that two apps in one process, and tests, use the values that they pass;
    `load_settings` alone reads the environment.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str | None = None  # agent.models knows the usable names; None: the first that the keys allow
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
    azure_openai_reasoning_effort: Effort = None  # of Azure alone; any other effort wins
    provider_keys: dict[str, Key] = {}  # by their names in the environment
    tavily_api_key: Key = None
    tavily_base_url: Address = None
    langfuse_public_key: Key = None
    langfuse_secret_key: Key = None
    langfuse_host: Address = "https://cloud.langfuse.com"
    langfuse_prompt_label: str = "production"
    langfuse_mask: Literal["on", "off"] = Field("off", description="on or off")
    langfuse_tracing_environment: Annotated[str | None, AfterValidator(_check_environment)] = Field(
        None, description="a name of at most 40 small letters, digits, - and _ that does not begin with langfuse"
    )
    langfuse_release: Label | None = Field(None, description=LABEL_RULE)
    langfuse_user: Label | None = Field(None, description=LABEL_RULE)
    langfuse_tags: Annotated[tuple[Label, ...] | None, BeforeValidator(_split_list)] = Field(
        None, description="a list of texts of at most 200 characters"
    )

    graph: str | None = Field(
        None, pattern=rf"{GRAPH_PATH}|^(.*/)?langgraph\.json$", description=f"{GRAPH_RULE}, or a langgraph.json"
    )  # None: new conversations begin with the built-in agent
    files_dir: Annotated[Path | None, AfterValidator(_resolve_folder)] = Field(None, description="a folder that is there")
    time_travel: Literal["off", "ask", "allow"] = Field("ask", description="off, ask or allow")
    message_numbers: Literal["msg", "short", "off"] = Field("msg", description="msg, short or off")
    judge: Literal["on", "off"] = Field("off", description="on or off")  # on: a call of the model more after a turn
    titles: Literal["on", "off"] = Field("on", description="on or off")  # on: a call of the model more in a conversation
    titles_model: str | None = None  # None: the conversation's own
    tools_enabled: Names = Field(None, description="a list of tools' names")  # None: all that can work
    tools_approval: Names = Field(None, description="a list of tools' names")  # these wait for a person's approval
    models_offered: Names = Field(None, description="a list of models, such as openai:NAME")
    limits_run_answers: Count = 500  # of all agents and branches of a run together
    limits_run_calls: Count = 1_000
    limits_run_seconds: Seconds = 3_600.0
    limits_agent_answers: Count = 100  # of the main agent in a run, and of a sub-agent for each question
    limits_agent_calls: Count = 200
    limits_agent_seconds: Seconds = 1_800.0
    limits_branch_answers: Count = 50  # of each branch of a fork
    limits_branch_calls: Count = 100
    limits_branch_seconds: Seconds = 600.0
    limits_tool_seconds: Seconds = 60.0
    limits_depth: int = Field(5, ge=1, le=20, description="a whole number from 1 to 20")
    graphs: dict[Name, GraphTable] = Field({}, description="a table with a path, or with the context of a graph of GRAPH")
    agents: dict[Name, AgentDefinition] = Field({}, description="a table with instructions")
    mcp: dict[Name, McpServerDefinition] = Field({}, description="a table with either command or url")
    prices: dict[str, PriceDefinition] = Field(
        {}, description=f"a table such as {{input = 0.25, output = 2.0}}, in {PRICE_UNIT}"
    )  # by the model's whole name
    data_dir: Annotated[Path, AfterValidator(Path.expanduser), Field(description="a folder")] = Path("data")
    database_url: Annotated[SecretStr | None, AfterValidator(_check_database_url)] = Field(
        None,
        description="sqlite:/// and the path of a file, or postgresql+psycopg://USER:PASSWORD@HOST/NAME",
    )
    worker_runs: Count = 100  # that one process writes at once, on PostgreSQL
    waiting_runs: Count = 1_000  # of all processes, that wait for one with room
    person_runs: Count | None = Field(None, description="a whole number from 1 to 100,000")  # that a person has at once
    person_tokens_a_day: int | None = Field(None, ge=1, description="a whole number of tokens, at least 1")
    person_storage_mb: int | None = Field(None, ge=1, description="a whole number of megabytes, at least 1")
    host: Annotated[str, AfterValidator(_check_host)] = Field(
        "127.0.0.1", description="an IP address of this machine, such as 127.0.0.1, or localhost"
    )
    port: int = Field(8050, ge=0, le=65535, description="a whole number from 0 (any free port) to 65535")
    auth: Literal["token", "none", "proxy", "password", "oidc"] = Field(
        "token", description="token, none, proxy, password or oidc"
    )
    audit_days: Count = 365  # that entries of the audit log are kept
    public_url: Annotated[str | None, AfterValidator(_clean_origin)] = Field(
        None,
        pattern=r"^https?://[^\s/?#@]+/?$",
        description="an address without a path, such as https://waymark.example.org",
    )  # of the page, as browsers have it; None: HOST and PORT
    proxy_networks: Annotated[tuple[Network, ...] | None, BeforeValidator(_parse_networks)] = Field(
        None, description="a list of networks, such as 10.0.3.0/24, and not of all addresses"
    )
    proxy_secret: Annotated[SecretStr, AfterValidator(_check_secret)] | None = Field(
        None, description=f"a secret of at least {MIN_SECRET_CHARS} letters, digits and signs, without spaces"
    )
    proxy_user_header: str = Field(
        "X-Forwarded-User",
        pattern=r"^[Xx]-[A-Za-z0-9-]{1,60}$|^Remote-User$",
        description="a header such as X-Forwarded-User",
    )
    sign_out_url: str | None = Field(
        None, pattern=r"^(https?://|/)[^\s]*$", description="an address, or a path of the proxy such as /oauth2/sign_out"
    )
    oidc_issuer: Annotated[str, AfterValidator(_check_issuer)] | None = Field(
        None, description="the https:// address of a provider of OpenID Connect, as it names itself"
    )
    oidc_client_id: Label | None = Field(None, description=LABEL_RULE)
    oidc_client_secret: Key = None  # None: a public client
    oidc_scopes: Annotated[str, AfterValidator(_check_scopes)] = Field(
        "openid profile email", description="names with spaces between them, one of which is openid"
    )
    oidc_groups_claim: Names = Field(None, description="a list of names of claims")  # None: groups
    oidc_admin_groups: Names = Field(None, description=GROUPS_RULE)
    oidc_member_groups: Names = Field(None, description=GROUPS_RULE)
    oidc_reader_groups: Names = Field(None, description=GROUPS_RULE)
    oidc_session_hours: int = Field(12, ge=1, le=720, description="a whole number of hours from 1 to 720")
    metrics_key: Annotated[SecretStr, AfterValidator(_check_key), Field(min_length=16)] | None = Field(
        None, description="a secret of at least 16 letters, digits and signs, without spaces"
    )  # None: there is no /metrics
    log_format: Literal["text", "json"] = Field("text", description="text or json")

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)  # of the fields in waymark.toml: table, key and file

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth(cls, value: Any) -> Any:
        return _refuse_bool(value)

    def name_source(self, field: str) -> str:
        """Return the key of a field for an error, as the person wrote it: in the environment, or in waymark.toml."""
        return self._sources.get(field, field.upper())

    @property
    def connection_url(self) -> str:
        """Return the address of the database: the file in DATA_DIR, where no other is named. It may contain a password."""
        return self.database_url.get_secret_value() if self.database_url else f"sqlite:///{self.data_dir / 'waymark.db'}"

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def load_settings(
    environ: Mapping[str, str] | None = None, *, dotenv: Path = Path(".env"), tables: Path = Path("waymark.toml")
) -> Settings:
    """Read `waymark.toml`, above it `.env`, and above that the environment; an empty value counts as not set.

    Raises SettingsError.
    """
    in_file = _read_dotenv(dotenv)
    names = {name.upper(): name for name in Settings.model_fields if name not in (*NAMED_TABLES, "provider_keys")}
    for key in in_file:
        if key not in (*names, *PROVIDER_KEYS) and (meant := get_close_matches(key.upper(), names, n=1, cutoff=0.8)):
            raise SettingsError(f"{key} in {dotenv.name} is not a setting; {meant[0]} is.")
    in_tables, named = _read_tables(tables)
    in_environment = in_file | _drop_empty(os.environ if environ is None else environ)
    given = {key: each.value for key, each in in_tables.items()} | in_environment
    sources = {names[key]: each.source for key, each in in_tables.items() if key not in in_environment}
    named["provider_keys"] = {key: given[key] for key in PROVIDER_KEYS if key in given}
    try:
        settings = Settings(**{names[key]: value for key, value in given.items() if key in names}, **named)
    except ValidationError as error:
        # "from None": pydantic's own text is for developers, and would show values.
        raise SettingsError(_describe_error(error.errors()[0], tables.name, sources)) from None
    settings._sources.update(sources)
    return settings


def _describe_error(error: ErrorDetails, file: str, sources: Mapping[str, str]) -> str:
    """Return the problems, by key or by table and key."""
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
    """Return the name of a table, as TOML writes it."""
    return ".".join(name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"' for name in names)


def _read_dotenv(path: Path) -> dict[str, str]:
    """Read the keys of the file verbatim: replacing ${...} would change a secret that contains it."""
    try:
        return _drop_empty(dotenv_values(path, interpolate=False))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} cannot be read as UTF-8 text ({type(error).__name__}).") from None


@dataclass(frozen=True, slots=True)
class _TableValue:
    """A value of a plain table, and its place for an error."""

    value: Any
    source: str


def _read_tables(path: Path) -> tuple[dict[str, _TableValue], dict[str, Any]]:
    """Read the tables of the file, by the key that each value has in the environment, and the named tables."""
    try:
        found = tomllib.loads(path.read_text()) if path.exists() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path.name} cannot be read as TOML ({error}).") from None
    except RecursionError:
        raise SettingsError(f"{path.name} cannot be read as TOML (it is nested too deeply).") from None
    named = {table: found.pop(table) for table in NAMED_TABLES if table in found}
    given = {}
    for table, values in found.items():
        for key, value in values.items() if isinstance(values, dict) else [("", None)]:
            source = f"{f'[{table}] {key}' if key else table} in {path.name}"
            if key not in PLAIN_TABLES.get(table, ()):
                raise SettingsError(f"{source} is not a setting.")
            given[f"{table}_{key}".upper()] = _TableValue(value, source)
    return given, named


def _drop_empty(values: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value.strip() for key, value in values.items() if value and value.strip()}
