"""What connecting a model from the page writes, keeps, refuses, and never shows."""

import asyncio
import json
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

from agent.models.connections import MODEL, ConnectionField
from agent.models.replaceable import ReplaceableModels
from application.composition import connecting
from application.composition.connecting import EnvFileConnector
from application.composition.factory import build_models
from application.settings import load_settings
from checkpoints.values.limits import MAX_SETTING_CHARS
from components.model_connector import ConnectionRefusedError
from tests.fakes.openai import FakeOpenAI, Fault, Say

KEY = "sk-very-secret-0123456789"
NAMES = ("MODEL", "MODELS_OFFERED", "OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY")


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / ".env"


def open_connector(path: Path) -> tuple[EnvFileConnector, ReplaceableModels]:
    models = ReplaceableModels(build_models(load_settings(dotenv=path)))
    return EnvFileConnector(models, lambda: None, path), models


def connect(connector: EnvFileConnector, provider: str, **values: str) -> str:
    return asyncio.run(connector.connect(provider, values))


def connect_fake(connector: EnvFileConnector, fake: FakeOpenAI, *, key: str = KEY, model: str = "small") -> str:
    return connect(connector, "compatible", OPENAI_BASE_URL=fake.base_url, OPENAI_API_KEY=key, MODEL=model)


def test_a_connected_model_is_used_at_once_and_after_a_restart(env_file: Path) -> None:
    env_file.write_text("# mine\nPORT=8055\n", encoding="utf-8")
    connector, models = open_connector(env_file)
    assert models.default_spec == "demo"
    with FakeOpenAI() as fake:
        fake.reply(Say("ready"))
        assert connect_fake(connector, fake) == models.default_spec == "openai:small"
        assert [request["model"] for request in fake.requests] == ["small"]
    assert env_file.read_text(encoding="utf-8").startswith("# mine\nPORT=8055\n")
    settings = load_settings(dotenv=env_file)
    assert (settings.model, settings.openai_api_key.get_secret_value()) == ("openai:small", KEY)  # type: ignore[union-attr]


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(env_file: Path) -> None:
    connector, _ = open_connector(env_file)
    with FakeOpenAI() as fake:
        fake.reply(Say("ready"), Say("ready"))
        connect_fake(connector, fake)
        assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
        env_file.chmod(0o640)
        connect_fake(connector, fake, model="large")
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o640
    assert sorted(path.name for path in env_file.parent.iterdir()) == [".env"]


@pytest.mark.parametrize(
    ("status", "sentence"), [(401, "The model provider refused the API key"), (404, "does not know this model")]
)
def test_a_refusal_is_a_sentence_and_changes_nothing(env_file: Path, status: int, sentence: str) -> None:
    connector, models = open_connector(env_file)
    with FakeOpenAI() as fake:
        fake.reply(Fault("status", status=status))
        with pytest.raises(ConnectionRefusedError, match=sentence) as refusal:
            connect_fake(connector, fake)
    assert KEY not in str(refusal.value)
    assert (env_file.exists(), models.default_spec) == (False, "demo")


def test_a_key_is_never_part_of_a_form(env_file: Path) -> None:
    env_file.write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    connector, _ = open_connector(env_file)
    forms = {form.id: form.fields for form in connector.list_forms()}
    assert KEY not in json.dumps([*forms.values()])
    assert [field["is_set"] for field in forms["openai"] if field["kind"] == "key"] == [True]


def test_a_kept_key_goes_to_no_other_address(env_file: Path) -> None:
    with FakeOpenAI() as fake, FakeOpenAI() as other:
        fake.reply(Say("ready"), Say("ready"))
        other.reply(Say("ready"))
        connector, models = open_connector(env_file)
        connect_fake(connector, fake)
        connect_fake(connector, fake, key="", model="large")
        assert dotenv_values(env_file)["OPENAI_API_KEY"] == KEY
        assert models.specs == ("openai:large", "openai:small", "demo")
        connect_fake(connector, other, key="")
        assert KEY not in env_file.read_text(encoding="utf-8")
    assert models.specs == ("openai:small", "demo")  # those of the old address are not on this one


@pytest.mark.parametrize(
    ("provider", "values", "sentence"),
    [
        ("openai", {MODEL: "a"}, "Fill in: API key."),
        ("openai", {"OPENAI_API_KEY": KEY}, "Fill in: Model."),
        ("openai", {"OPENAI_API_KEY": f"{KEY}\nMODEL=x", MODEL: "a"}, "API key must be one line"),
        ("openai", {"OPENAI_API_KEY": "ключ", MODEL: "a"}, "OPENAI_API_KEY must be an API key"),
        ("openai", {"OPENAI_API_KEY": KEY, MODEL: "a" * (MAX_SETTING_CHARS + 1)}, "Model must be one line"),
        ("compatible", {"OPENAI_BASE_URL": "file:///etc", MODEL: "a"}, "OPENAI_BASE_URL must be an address"),
        ("nobody", {}, "There is no such provider."),
    ],
)
def test_what_cannot_be_a_setting_is_refused(
    env_file: Path, provider: str, values: Mapping[str, str], sentence: str
) -> None:
    connector, _ = open_connector(env_file)
    with pytest.raises(ConnectionRefusedError) as refusal:
        asyncio.run(connector.connect(provider, values))
    assert sentence in str(refusal.value)
    assert not env_file.exists()


def test_a_setting_of_the_most_characters_is_taken() -> None:
    name = "a" * MAX_SETTING_CHARS
    assert connecting._check_value(ConnectionField(MODEL, "Model"), name) == name


def test_what_a_graph_puts_into_the_environment_is_no_setting(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connector, models = open_connector(env_file)
    monkeypatch.setenv("MODEL", "provider/of-the-graph")
    with FakeOpenAI() as fake:
        fake.reply(Say("ready"))
        assert connect_fake(connector, fake) == models.default_spec == "openai:small"


def test_a_setting_of_the_environment_is_not_written_over(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL", "demo")
    connector, _ = open_connector(env_file)
    with FakeOpenAI() as fake, pytest.raises(ConnectionRefusedError, match="MODEL is set in the server's environment"):
        connect_fake(connector, fake)
    assert fake.requests == []


def test_a_folder_that_cannot_be_written_is_a_sentence(env_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    connector, models = open_connector(env_file)
    monkeypatch.setattr("os.replace", refuse)
    with FakeOpenAI() as fake:
        fake.reply(Say("ready"))
        with pytest.raises(ConnectionRefusedError, match=r"\.env cannot be written: Permission denied\."):
            connect_fake(connector, fake)
    assert models.default_spec == "demo"


@given(key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60))
def test_a_key_is_read_as_it_was_written(key: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("keys") / ".env"
    connector, _ = open_connector(path)
    connector._write_settings({"OPENAI_API_KEY": key, MODEL: "openai:a"}, path)
    assert load_settings({}, dotenv=path).openai_api_key.get_secret_value() == key  # type: ignore[union-attr]
