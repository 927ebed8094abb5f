"""Connect a model from the page: its settings are tried first, then written to `.env`, and used at once."""

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from dotenv import dotenv_values, set_key

from agent.models.catalog import DEMO_SPECS, ConfiguredModels
from agent.models.connections import MODEL, Connection, ConnectionField, list_connections, try_model
from agent.models.errors import ModelConfigurationError, describe_model_error
from agent.models.replaceable import ReplaceableModels
from application.composition import factory
from application.settings import SettingsError, load_settings
from checkpoints.values.limits import MAX_SETTING_CHARS
from checkpoints.values.sentence import sentence
from components.model_connector import ConnectionForm, ConnectionRefusedError

MODELS_OFFERED = "MODELS_OFFERED"
_log = logging.getLogger("waymark.models")


class EnvFileConnector:
    """Keep the settings of models in `.env`. Settings in the process's environment take precedence and stay unchanged."""

    def __init__(self, models: ReplaceableModels, prepare: Callable[[], object], path: Path = Path(".env")) -> None:
        """`prepare` is called before a model is loaded (see `ConfiguredModels`)."""
        # The environment may change later to that of a graph (see `list_graphs`).
        self._environ = dict(os.environ)
        self._models = models
        self._prepare = prepare
        self._path = path.resolve()
        self._lock = asyncio.Lock()

    def list_forms(self) -> list[ConnectionForm]:
        given = self._read_values()
        return [
            ConnectionForm(each.id, each.label, [_describe_field(field, given) for field in each.fields])
            for each in list_connections()
        ]

    async def connect(self, provider: str, values: Mapping[str, str]) -> str:
        connection = next((each for each in list_connections() if each.id == provider), None)
        if connection is None:
            raise ConnectionRefusedError(sentence("There is no such provider."))
        async with self._lock:
            changes = self._choose_changes(connection, values)
            spec = changes[MODEL]
            # The folder is private, as .env itself is.
            with tempfile.TemporaryDirectory(prefix=".waymark-") as folder:
                try:
                    models = await asyncio.to_thread(self._write_settings, changes, Path(folder) / self._path.name)
                    await try_model(await asyncio.to_thread(models.load_model))
                    await asyncio.to_thread(self._replace_file, Path(folder) / self._path.name)
                except (SettingsError, ModelConfigurationError) as error:
                    raise ConnectionRefusedError(str(error)) from None
                except OSError as error:
                    raise ConnectionRefusedError(
                        sentence("{path} cannot be written: {strerror}.", path=self._path, strerror=error.strerror)
                    ) from error
                except Exception as error:
                    raise ConnectionRefusedError(describe_model_error(error)) from error
            self._models.current = models
        _log.info("connected %s", spec)
        return spec

    def _read_values(self) -> dict[str, str]:
        in_file = dotenv_values(self._path, interpolate=False) if self._path.exists() else {}
        return {key: value.strip() for key, value in ({**in_file, **self._environ}).items() if value and value.strip()}

    def _choose_changes(self, connection: Connection, values: Mapping[str, str]) -> dict[str, str]:
        """Return the settings to write; an empty value removes a setting. Raises `ConnectionRefusedError`."""
        given = self._read_values()
        chosen = {field.name: _check_value(field, values.get(field.name, "")) for field in connection.fields}
        chosen |= dict.fromkeys(connection.removed, "")
        addresses = {field.name for field in connection.fields if field.kind == "address"} | {*connection.removed}
        is_same_server = all(chosen[name] == given.get(name, "") for name in addresses)
        for field in connection.fields:
            # A key is sent to no other address than the address it was given for.
            if field.kind == "key" and is_same_server and not chosen[field.name]:
                chosen[field.name] = given.get(field.name, "")
            if field.is_required and not chosen[field.name]:
                raise ConnectionRefusedError(sentence("Fill in: {label}.", label=field.label))
        chosen[MODEL] = connection.make_spec(chosen)
        changes = {name: value for name, value in chosen.items() if value != given.get(name, "")} | {MODEL: chosen[MODEL]}
        if fixed := [name for name in changes if self._environ.get(name, "").strip() not in ("", changes[name])]:
            raise ConnectionRefusedError(
                sentence(
                    "{fixed} is set in the server's environment, which comes before .env. Change it there.", fixed=fixed[0]
                )
            )
        dropped = None if is_same_server else connection.prefix
        return changes | {MODELS_OFFERED: ",".join(self._list_offered(changes[MODEL], dropped))}

    def _list_offered(self, spec: str, dropped: str | None) -> list[str]:
        """Return the models to offer beside the new model. `dropped` is the provider whose server changed: its models go."""
        kept = [each for each in self._models.specs if each not in (spec, *DEMO_SPECS)]
        return [each for each in kept if dropped is None or each.partition(":")[0].removesuffix("-responses") != dropped]

    def _write_settings(self, changes: Mapping[str, str], path: Path) -> ConfiguredModels:
        """Write `.env` with the changes to another path. Return its models."""
        if self._path.exists():
            shutil.copy(self._path, path)
        known = dotenv_values(path, interpolate=False) if path.exists() else {}
        for name, value in changes.items():
            if value or known.get(name):
                set_key(path, name, value)
        return factory.build_models(load_settings(self._environ, dotenv=path), prepare=self._prepare)

    def _replace_file(self, written: Path) -> None:
        """Put the written file in place atomically. Nobody else can read it meanwhile."""
        beside = self._path.with_name(f"{self._path.name}.new")
        beside.unlink(missing_ok=True)
        beside.touch(mode=0o600, exist_ok=False)
        shutil.copy(written, beside)
        os.replace(beside, self._path)


def _describe_field(field: ConnectionField, given: Mapping[str, str]) -> dict[str, object]:
    """Describe a field for the page. A key is never part of it."""
    value = given.get(field.name, "") if field.kind != "key" and field.name != MODEL else ""
    return {
        "name": field.name,
        "label": field.label,
        "kind": field.kind,
        "required": field.is_required,
        "value": value or field.suggestion,
        "is_set": field.kind == "key" and bool(given.get(field.name)),
    }


def _check_value(field: ConnectionField, value: str) -> str:
    """Return a value in the form to write. Raises `ConnectionRefusedError`."""
    value = value.strip()
    if len(value) > MAX_SETTING_CHARS or not value.isprintable():
        raise ConnectionRefusedError(
            sentence("{label} must be one line of at most {limit:,} characters.", label=field.label, limit=MAX_SETTING_CHARS)
        )
    return value
