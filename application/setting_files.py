"""The files of the settings, `.env` and `waymark.toml`, as the values of their keys. Only `settings` reads them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from application.setting_types import NAMED_TABLES, PLAIN_TABLES


class SettingsError(ValueError):
    """A setting that cannot be used. The text is a sentence that names the key and never shows a value."""


def read_dotenv(path: Path) -> dict[str, str]:
    """Read the keys of the file verbatim: replacing ${...} would change a secret with these characters."""
    try:
        return drop_empty(dotenv_values(path, interpolate=False))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name} cannot be read as UTF-8 text ({type(error).__name__}).") from None


@dataclass(frozen=True, slots=True)
class TableValue:
    """A value of a plain table, and its place for an error."""

    value: Any
    source: str


def read_tables(path: Path) -> tuple[dict[str, TableValue], dict[str, Any]]:
    """Read the tables of the file, by each value's key in the environment, and the named tables."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
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
            given[f"{table}_{key}".upper()] = TableValue(value, source)
    return given, named


def drop_empty(values: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value.strip() for key, value in values.items() if value and value.strip()}
