"""What the environment may say, and what is answered when it is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from application.named_tables import AgentDefinition, PriceDefinition
from application.setting_types import NAME_RULE
from application.settings import Settings, SettingsError, load_settings

CANARY = "sk-canary-0123456789"


def load(tmp_path: Path, dotenv: str = "", **environ: str) -> Settings:
    path = tmp_path / ".env"
    path.write_text(dotenv)
    return load_settings(environ, dotenv=path)


def test_nothing_set_is_a_local_app_with_a_token(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.host, settings.port, settings.auth) == ("127.0.0.1", 8050, "token")
    assert (settings.model, settings.data_dir, settings.database_url) == (None, Path("data"), None)
    assert (settings.model_idle_seconds, settings.demo_seconds_per_token) == (60.0, 0.02)


def test_the_password_in_the_address_of_the_database_is_a_secret(tmp_path: Path) -> None:
    settings = load(tmp_path, DATABASE_URL=f"postgresql+psycopg://user:{CANARY}@host:5432/name?sslmode=require")
    assert settings.database_url is not None
    assert CANARY in settings.database_url.get_secret_value()
    assert CANARY not in repr(settings)


def test_a_missing_file_is_no_error(tmp_path: Path) -> None:
    assert load_settings({}, dotenv=tmp_path / "none") == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "PORT=1\nMODEL=demo\n# a comment\nSOMETHING_ELSE=x", PORT="2", AUTH=" none\n")
    assert (settings.port, settings.model, settings.auth) == (2, "demo", "none")


def test_an_empty_value_counts_as_not_set(tmp_path: Path) -> None:
    settings = load(tmp_path, "OPENAI_API_KEY=\nPORT=", MODEL="", HOST=" ")
    assert settings == Settings()


def test_the_process_environment_is_read_when_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "1234")
    assert load_settings(dotenv=tmp_path / "none").port == 1234
    assert Settings().port == 8050


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("PORT", "many"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("HOST", "example.com"),
        ("AUTH", "passwords"),
        ("PUBLIC_URL", "waymark.test"),
        ("PUBLIC_URL", "https://waymark.example/chat"),
        ("PUBLIC_URL", "https://ann@waymark.example"),
        ("PROXY_NETWORKS", "0.0.0.0/0"),
        ("PROXY_NETWORKS", "10.0.3.0/24,::/0"),
        ("PROXY_NETWORKS", "10.0.3.7/24"),
        ("PROXY_NETWORKS", "proxy.example"),
        ("PROXY_SECRET", CANARY),
        ("PROXY_SECRET", f"{CANARY} and another {CANARY}, with spaces"),
        ("PROXY_USER_HEADER", "Cookie"),
        ("SIGN_OUT_URL", "javascript:alert(1)"),
        ("DATABASE_URL", f"postgresql+psycopg://user:{CANARY}@host"),
        ("DATABASE_URL", f"postgres://user:{CANARY}@host/name"),
        ("LANGFUSE_TRACING_ENVIRONMENT", "Staging"),
        ("LANGFUSE_TRACING_ENVIRONMENT", "langfuse-own"),
        ("LANGFUSE_TAGS", "x" * 201),
        ("MESSAGE_NUMBERS", "on"),
        ("OPENAI_BASE_URL", "localhost:1234"),
        ("TAVILY_BASE_URL", "file:///etc/passwd"),
        ("AZURE_OPENAI_ENDPOINT", "x.openai.azure.com"),
        ("MODEL_IDLE_SECONDS", "0.000"),
        ("MODEL_IDLE_SECONDS", "nan"),
        ("MODEL_WINDOW", "999"),
        ("DEMO_SECONDS_PER_TOKEN", "-1"),
        ("LIMITS_RUN_ANSWERS", "-7"),
        ("LIMITS_AGENT_CALLS", "many"),
        ("LIMITS_BRANCH_SECONDS", "inf"),
        ("LIMITS_DEPTH", "21"),
        ("MODEL_TEMPERATURE", "2.1"),
        ("MODEL_REASONING_EFFORT", "much"),
        ("MODEL_EXTRA_BODY", "[7]"),
        ("MODEL_EXTRA_BODY", "{"),
        ("OPENAI_API_KEY", f"{CANARY}…"),
        ("TAVILY_API_KEY", f"{CANARY} two"),
        ("AZURE_OPENAI_API_KEY", f"{CANARY}\nX: y"),
    ],
)
def test_a_bad_value_is_one_sentence_that_names_the_key_and_shows_no_value(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, **{key: value})
    sentence = str(caught.value)
    assert sentence.startswith(f"{key} must be ")
    assert sentence.count("\n") == 0
    assert "None" not in sentence
    assert value not in sentence
    assert CANARY not in sentence
    assert caught.value.__suppress_context__


def test_limits_and_model_parameters_are_tables_below_the_environment(tmp_path: Path) -> None:
    text = """
        [limits]
        agent_calls = 300
        branch_seconds = 90.5
        depth = 2
        [model]
        temperature = 0.2
        reasoning_effort = "low"
        extra_body = {seed = 7}
        """
    path = tmp_path / "waymark.toml"
    path.write_text(text)
    found = load_settings({"LIMITS_AGENT_CALLS": "400"}, dotenv=tmp_path / ".env", tables=path)
    assert (found.limits_agent_calls, found.limits_branch_seconds, found.limits_depth) == (400, 90.5, 2)
    assert (found.model_temperature, found.model_reasoning_effort, found.model_extra_body) == (0.2, "low", '{"seed": 7}')
    found = load_settings({"MODEL_EXTRA_BODY": '{"top_k": 3}'}, dotenv=tmp_path / ".env", tables=path)
    assert found.model_extra_body == '{"top_k": 3}'


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Waymark.example/", "https://waymark.example"),
        ("https://waymark.example:443", "https://waymark.example"),
        ("https://waymark.example:8443", "https://waymark.example:8443"),
        ("http://waymark.example:80", "http://waymark.example"),
    ],
)
def test_the_public_address_is_as_browsers_name_it(tmp_path: Path, url: str, origin: str) -> None:
    assert load(tmp_path, PUBLIC_URL=url).public_url == origin


def test_a_misspelled_key_in_the_file_is_named_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^OPENAI_APIKEY in .env is not a setting; OPENAI_API_KEY is.$"):
        load(tmp_path, f"OPENAI_APIKEY={CANARY}")
    with pytest.raises(SettingsError, match=r"^port in .env is not a setting; PORT is.$"):
        load(tmp_path, "port=1")


@pytest.mark.parametrize("body", ["{d = 2026-01-01}", "{a = nan}", "{messages = []}"])
def test_an_extra_body_that_cannot_be_sent_is_one_sentence(tmp_path: Path, body: str) -> None:
    (tmp_path / "waymark.toml").write_text(f"[model]\nextra_body = {body}\n")
    with pytest.raises(SettingsError, match=r"^\[model\] extra_body in waymark.toml must be a JSON object"):
        load_settings({}, dotenv=tmp_path / ".env", tables=tmp_path / "waymark.toml")


def test_a_file_that_is_no_text_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe\x00PORT=1")
    with pytest.raises(SettingsError, match=r"^\.env cannot be read as UTF-8 text"):
        load_settings({}, dotenv=tmp_path / ".env")


def test_a_byte_order_mark_before_the_settings_is_read_over(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PORT=1", encoding="utf-8-sig")
    (tmp_path / "waymark.toml").write_text("[limits]\ndepth = 3", encoding="utf-8-sig")
    found = load_settings({}, dotenv=tmp_path / ".env", tables=tmp_path / "waymark.toml")
    assert (found.port, found.limits_depth) == (1, 3)


def test_a_secret_is_kept_to_the_letter(tmp_path: Path) -> None:
    key = load(tmp_path, "OPENAI_API_KEY='a${HOME}$b#c'").openai_api_key
    assert key is not None
    assert key.get_secret_value() == "a${HOME}$b#c"


def test_no_secret_shows_in_text_dumps_or_errors(tmp_path: Path) -> None:
    settings = load(tmp_path, OPENAI_API_KEY=CANARY, AZURE_OPENAI_API_KEY=CANARY, TAVILY_API_KEY=CANARY)
    for text in (repr(settings), str(settings), repr(settings.model_dump()), settings.model_dump_json()):
        assert CANARY not in text
    with pytest.raises(ValidationError) as caught:
        Settings(openai_api_key=CANARY, tavily_api_key=f"{CANARY} ")
    assert CANARY not in str(caught.value) + repr(caught.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]


@pytest.mark.slow
def test_the_traceback_of_a_bad_key_shows_no_key() -> None:
    program = "from application.settings import load_settings; load_settings"
    program += f"({{'OPENAI_API_KEY': chr(8230) + '{CANARY[::-1]}'[::-1]}})"
    command, root = [sys.executable, "-c", program], Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "SettingsError: OPENAI_API_KEY must be" in done.stderr
    assert CANARY not in done.stderr


def test_the_tables_are_read_below_the_environment(tmp_path: Path) -> None:
    tables = tmp_path / "waymark.toml"
    tables.write_text('[tools]\nenabled = ["calculator", "read_file"]\napproval = ["read_file"]\n')
    found = load_settings({}, dotenv=tmp_path / ".env", tables=tables)
    assert (found.tools_enabled, found.tools_approval) == (("calculator", "read_file"), ("read_file",))
    found = load_settings({"TOOLS_ENABLED": "calculator, web_search"}, dotenv=tmp_path / ".env", tables=tables)
    assert found.tools_enabled == ("calculator", "web_search")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[tools]\nenable = []", "[tools] enable in waymark.toml is not a setting."),
        ("model = 'demo'", "model in waymark.toml is not a setting."),
        ("[tool]\nenabled = []", "[tool] enabled in waymark.toml is not a setting."),
        ("[tools]\nenabled = 3", "[tools] enabled in waymark.toml must be a list of tools' names."),
        ("[limits]\nsteps = 9", "[limits] steps in waymark.toml is not a setting."),
        ("[limits]\nrun_answers = 0", "[limits] run_answers in waymark.toml must be a whole number from 1 to 100,000."),
        ("[limits]\ndepth = true", "[limits] depth in waymark.toml must be a whole number from 1 to 20."),
        ("[limits]\ntool_seconds = true", "[limits] tool_seconds in waymark.toml must be a number of seconds"),
        ("[model]\ntemperature = true", "[model] temperature in waymark.toml must be a number from 0 to 2."),
        ("[model]\nmax_tokens = true", "[model] max_tokens in waymark.toml must be a whole number of tokens"),
        ("[prices]\nx = {input = true, output = 2}", "[prices.x] input in waymark.toml must be a number of US dollars"),
        ("[tools", "waymark.toml cannot be read as TOML"),
        pytest.param(f"a = {'[' * 10_000}", "waymark.toml cannot be read as TOML (it is nested too deeply).", id="deep"),
    ],
)
def test_a_bad_table_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    tables = tmp_path / "waymark.toml"
    tables.write_text(text)
    with pytest.raises(SettingsError) as told:
        load_settings({}, dotenv=tmp_path / ".env", tables=tables)
    assert str(told.value).startswith(sentence)


def tables(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "waymark.toml"
    path.write_text(text)
    return load_settings({"PRICES": "of another program"}, dotenv=tmp_path / ".env", tables=path)


def test_agents_servers_and_prices_have_tables_of_their_own(tmp_path: Path) -> None:
    found = tables(
        tmp_path,
        f"""
        [models]
        offered = ["openai:small", "demo"]
        [agents.critic]
        instructions = "Doubt."
        tools = ["calculator"]
        [mcp.files]
        command = "server"
        args = ["--root", "."]
        env = {{TOKEN = "{CANARY}"}}
        [mcp.far_away]
        url = "http://127.0.0.1:9/mcp"
        approval = false
        [prices]
        "openai:small" = {{input = 1, output = 2.5}}
        """,
    )
    assert found.models_offered == ("openai:small", "demo")
    assert found.agents == {"critic": AgentDefinition(instructions="Doubt.", tools=("calculator",))}
    near, far = found.mcp["files"], found.mcp["far_away"]
    assert (near.command, near.args, near.env["TOKEN"].get_secret_value()) == ("server", ("--root", "."), CANARY)
    assert (far.url, near.approval, far.approval) == ("http://127.0.0.1:9/mcp", True, False)
    assert found.prices == {"openai:small": PriceDefinition(input=1, output=2.5)}
    assert CANARY not in repr(found)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("agents = 3", "[agents] in waymark.toml must be a table with instructions."),
        ("[agents]\ncritic = 3", "[agents.critic] in waymark.toml must be a table with instructions."),
        ("[agents.critic]", "[agents.critic] instructions in waymark.toml must be a text."),
        ("[agents.critic]\ninstructions = 3", "[agents.critic] instructions in waymark.toml must be a text."),
        (
            "[agents.critic]\ninstructions = 'x'\ntools = 'calculator'",
            "[agents.critic] tools in waymark.toml must be a list of tools' names.",
        ),
        (
            "[agents.'The critic']\ninstructions = 'x'",
            f'The name of [agents."The critic"] in waymark.toml must be {NAME_RULE}.',
        ),
        ("[mcp.files]", "[mcp.files] in waymark.toml must be a table with either command or url."),
        ("[mcp.f]\ncommand='x'\nurl='http://x'", "[mcp.f] in waymark.toml must be a table with either command or url."),
        ("[mcp.files]\ncomand = 'x'", "[mcp.files] comand in waymark.toml is not a setting."),
        ("[mcp.f]\nurl = 'x'", "[mcp.f] url in waymark.toml must be an address that begins with http:// or https://."),
        ("[mcp.files]\ncommand='x'\nenv={A=1}", "[mcp.files] env in waymark.toml must be a table of texts."),
        (
            "[prices]\n'openai:x' = {input = -1, output = 2}",
            '[prices."openai:x"] input in waymark.toml must be a number of US dollars per million tokens, at least 0.',
        ),
        (
            "[prices]\n'x' = 3",
            "[prices.x] in waymark.toml must be a table such as {input = 0.25, output = 2.0}, in US dollars per million "
            "tokens.",
        ),
        ("[models]\noffers = []", "[models] offers in waymark.toml is not a setting."),
    ],
)
def test_a_bad_named_table_is_one_sentence_that_names_table_and_key(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as told:
        tables(tmp_path, text)
    assert str(told.value) == sentence


def test_an_overridden_value_is_named_by_the_key_that_overrides_it(tmp_path: Path) -> None:
    path = tmp_path / "waymark.toml"
    path.write_text("[limits]\ndepth = 3\nrun_calls = 4\n")
    with pytest.raises(SettingsError, match=r"^LIMITS_DEPTH must be"):
        load_settings({"LIMITS_DEPTH": "0"}, dotenv=tmp_path / ".env", tables=path)
    found = load_settings({"LIMITS_DEPTH": "2"}, dotenv=tmp_path / ".env", tables=path)
    assert found.name_source("limits_depth") == "LIMITS_DEPTH"
    assert found.name_source("limits_run_calls") == "[limits] run_calls in waymark.toml"
