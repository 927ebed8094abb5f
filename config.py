"""The settings: the only reader of the environment, of `.env` and of `waymark.toml`.

Each field is the key of the same name in capitals; in `waymark.toml`, `enabled` in the table `[tools]` is `tools_enabled`.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from dotenv import dotenv_values
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class SettingsError(ValueError):
    """A setting that cannot be used; the text is one sentence that names the key and never shows a value."""


def _key(value: SecretStr | None) -> SecretStr | None:
    """Refuse what cannot stand in a header: the error of the HTTP client would show the key."""
    if value and not all("!" <= character <= "~" for character in value.get_secret_value()):
        raise ValueError
    return value


def _folder(path: Path | None) -> Path | None:
    if path is not None and not path.expanduser().is_dir():
        raise ValueError
    return path and path.expanduser().resolve()


_DATABASE = re.compile(r"sqlite:///.*[^/.]|postgresql\+psycopg://[^\s/]*/[^\s/?]+(\?\S+)?")


def _database(value: SecretStr | None) -> SecretStr | None:
    """Refuse all but a file of SQLite and a database of PostgreSQL. A secret: the password stands in it."""
    if value and not _DATABASE.fullmatch(value.get_secret_value()):
        raise ValueError
    return value


def _listed(value: Any) -> Any:
    """Also as one text, with commas: an environment knows no lists."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _loopback(value: str) -> str:
    if value != "localhost" and not ip_address(value).is_loopback:
        raise ValueError
    return value


Key = Annotated[
    SecretStr | None, AfterValidator(_key), Field(description="an API key: letters, digits and signs, without spaces")
]
Address = Annotated[
    str | None, Field(pattern=r"^https?://[^\s/]+", description="an address that begins with http:// or https://")
]


Names = Annotated[tuple[str, ...] | None, BeforeValidator(_listed)]
TABLES = {"tools": ("enabled", "approval")}  # of waymark.toml


class Settings(BaseSettings):
    """Everything that can be set. A field's description completes the sentence "KEY must be ...".

    Constructing it reads nothing, so that two apps in one process, and tests, get what they are given;
    `load_settings` is the door to the environment.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str | None = None  # which names are usable is known to agent.models; None: what the keys allow
    model_idle_seconds: float = Field(60.0, gt=0, le=3600, description="a number of seconds above 0 and up to 3600")
    demo_seconds_per_token: float = Field(0.02, ge=0, le=10, description="a number of seconds from 0 to 10")

    openai_api_key: Key = None
    openai_base_url: Address = None
    azure_openai_api_key: Key = None
    azure_openai_endpoint: Address = None
    azure_openai_api_version: str | None = None
    azure_openai_deployment_name: str | None = None
    azure_openai_reasoning_effort: str | None = None
    tavily_api_key: Key = None
    tavily_base_url: Address = None
    langfuse_public_key: Key = None
    langfuse_secret_key: Key = None
    langfuse_host: Address = "https://cloud.langfuse.com"
    langfuse_prompt_label: str = "production"
    langfuse_mask: Literal["on", "off"] = Field("off", description="on or off")

    files_dir: Annotated[Path | None, AfterValidator(_folder)] = Field(None, description="a folder that is there")
    time_travel: Literal["off", "ask", "allow"] = Field("ask", description="off, ask or allow")
    tools_enabled: Names = Field(None, description="a list of tools' names")  # None: all that can work
    tools_approval: Names = Field(None, description="a list of tools' names")  # these ask a person before they run
    data_dir: Annotated[Path, AfterValidator(Path.expanduser), Field(description="a folder")] = Path("data")
    database_url: Annotated[SecretStr | None, AfterValidator(_database)] = Field(
        None,
        description="sqlite:/// and the path of a file, or postgresql+psycopg://USER:PASSWORD@HOST/NAME",
    )
    host: Annotated[str, AfterValidator(_loopback)] = Field(
        "127.0.0.1", description="an address of this machine alone, such as 127.0.0.1 or localhost"
    )
    port: int = Field(8050, ge=0, le=65535, description="a whole number from 0 (any free port) to 65535")
    auth: Literal["token", "none"] = Field("token", description="token or none")

    @property
    def database(self) -> str:
        """The address of the database: the file in DATA_DIR, where no other is named. A password may stand in it."""
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
    in_file = _read(dotenv)
    names = {name.upper(): name for name in Settings.model_fields}
    for key in in_file:
        if key not in names and (meant := get_close_matches(key.upper(), names, n=1, cutoff=0.8)):
            raise SettingsError(f"{key} in {dotenv.name} is not a setting; {meant[0]} is.")
    given = _structured(tables) | in_file | _present(os.environ if environ is None else environ)
    try:
        return Settings(**{names[key]: value for key, value in given.items() if key in names})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        # "from None": what pydantic tells beside the sentence is for developers, and is where values would show.
        raise SettingsError(f"{name.upper()} must be {Settings.model_fields[name].description}.") from None


def _read(path: Path) -> dict[str, str]:
    """The keys of the file, as they stand: without ${...}, which would change a secret that contains it."""
    try:
        return _present(dotenv_values(path, interpolate=False))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} cannot be read as UTF-8 text ({type(error).__name__}).") from None


def _structured(path: Path) -> dict[str, Any]:
    """What stands in the tables of the file, by the key that it would have in the environment."""
    try:
        found = tomllib.loads(path.read_text()) if path.exists() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path.name} cannot be read as TOML ({error}).") from None
    given = {}
    for table, values in found.items():
        for key, value in values.items() if isinstance(values, dict) else [("", None)]:
            if key not in TABLES.get(table, ()):
                raise SettingsError(f"{f'[{table}] {key}' if key else table} in {path.name} is not a setting.")
            given[f"{table}_{key}".upper()] = value
    return given


def _present(values: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value.strip() for key, value in values.items() if value and value.strip()}
