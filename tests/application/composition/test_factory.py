"""What the settings name becomes: the same rules as in a conversation, and errors that name their key."""

from pathlib import Path

import pytest

from agent.graph.state import Limits
from agent.models.errors import ModelConfigurationError
from agent.models.parameters import (
    PARAMETER_RANGES,
    REASONING_EFFORTS,
    InvalidParameterError,
    ModelParameters,
    parse_parameters,
)
from application.composition.agent_factory import build_tools
from application.composition.factory import build_limits, build_models, check_access, check_titles
from application.settings import Settings, SettingsError, load_settings
from extensions.people.building import build_proxy

EDGES = [
    *((name, f"{bound + step}") for name, bounds in PARAMETER_RANGES.items() for bound in bounds for step in (-1, 0, 1)),
    *(("reasoning_effort", effort) for effort in (*REASONING_EFFORTS, "much")),
    ("extra_body", f'{{"a": "{"x" * 3_991}"}}'),
    ("extra_body", f'{{"a": "{"x" * 3_992}"}}'),
]


def load(environ: dict[str, str]) -> Settings:
    return load_settings(environ, dotenv=Path("no.env"), tables=Path("no.toml"))


PROXY = {
    "AUTH": "proxy",
    "HOST": "0.0.0.0",
    "PUBLIC_URL": "https://waymark.example",
    "PROXY_NETWORKS": "10.0.3.0/24, fd00::/8",
    "PROXY_SECRET": "a-secret-of-more-than-thirty-two-characters",
}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
@pytest.mark.parametrize("auth", ["token", "none"])
def test_one_person_is_served_on_every_loopback_address(host: str, auth: str) -> None:
    settings = load({"HOST": host, "AUTH": auth})
    check_access(settings)
    assert build_proxy(settings) is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "2001:db8::1"])
@pytest.mark.parametrize("auth", ["token", "none"])
def test_another_address_is_refused_with_the_way_that_fits(host: str, auth: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check_access(load({"HOST": host, "AUTH": auth}))
    assert str(caught.value).startswith(f"HOST {host} can be reached from other machines, and AUTH={auth} is for one person")
    assert "Set AUTH=proxy, " in str(caught.value)


def test_a_proxy_may_be_on_any_address_and_needs_all_that_tells_it_from_others() -> None:
    check_access(load(PROXY))
    proxy = build_proxy(load(PROXY))
    assert proxy
    assert [str(each) for each in proxy.networks] == ["10.0.3.0/24", "fd00::/8"]
    for missing in ("PUBLIC_URL", "PROXY_NETWORKS", "PROXY_SECRET"):
        with pytest.raises(SettingsError, match=f"^AUTH=proxy needs {missing}: "):
            check_access(load(PROXY | {missing: ""}))
    with pytest.raises(SettingsError, match=r"^PROXY_USER_HEADER cannot be X-Waymark-Proxy-Secret"):
        check_access(load(PROXY | {"PROXY_USER_HEADER": "X-Waymark-Proxy-Secret"}))


PROVIDER = {"OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "waymark", "OIDC_MEMBER_GROUPS": "staff"}


@pytest.mark.parametrize("given", [{"AUTH": "password"}, {"AUTH": "oidc", **PROVIDER}])
def test_people_sign_in_from_other_machines_with_tls_alone(given: dict[str, str]) -> None:
    check_access(load(given))
    check_access(load({**given, "HOST": "0.0.0.0", "PUBLIC_URL": "https://waymark.example"}))
    for url in ("", "http://waymark.example"):
        with pytest.raises(SettingsError, match=r"sign-ins would be readable on the way. Set PUBLIC_URL to the https://"):
            check_access(load({**given, "HOST": "0.0.0.0", "PUBLIC_URL": url}))


@pytest.mark.parametrize(("missing", "named"), [*((key, key) for key in PROVIDER)])
def test_a_provider_is_named_with_its_groups(missing: str, named: str) -> None:
    with pytest.raises(SettingsError, match=rf"^AUTH=oidc needs .*{named}"):
        check_access(load({"AUTH": "oidc", **PROVIDER, missing: ""}))


@pytest.mark.parametrize(
    "issuer",
    ["http://id.example", "id.example", "https://", "https://x@id.example", "https://id.example?x", "ftp://localhost"],
)
def test_an_issuer_is_an_address_with_tls(issuer: str) -> None:
    with pytest.raises(SettingsError, match=r"^OIDC_ISSUER must be the https:// address"):
        load({"OIDC_ISSUER": issuer})
    assert load({"OIDC_ISSUER": "http://localhost:8080/realms/x"}).oidc_issuer


def test_the_groups_of_roles_may_have_commas_in_a_table(tmp_path: Path) -> None:
    (tmp_path / "waymark.toml").write_text('[oidc]\nadmin_groups = ["cn=admins,dc=example"]\n')
    found = load_settings({"OIDC_READER_GROUPS": "a, b"}, dotenv=tmp_path / ".env", tables=tmp_path / "waymark.toml")
    assert (found.oidc_admin_groups, found.oidc_reader_groups) == (("cn=admins,dc=example",), ("a", "b"))
    for scopes in ("profile", "openidx", "openid\nemail"):
        with pytest.raises(SettingsError, match=r"^OIDC_SCOPES must be names with spaces"):
            load({"OIDC_SCOPES": scopes})


def test_the_defaults_of_the_limits_are_those_of_the_agent() -> None:
    assert build_limits(Settings()) == Limits()


@pytest.mark.parametrize(("name", "text"), EDGES, ids=lambda value: value[:20])
def test_the_settings_take_the_parameters_that_a_conversation_takes(name: str, text: str) -> None:
    try:
        parameters = parse_parameters({name: text})
    except InvalidParameterError:
        with pytest.raises(SettingsError, match=f"MODEL_{name.upper()} must be "):
            load({f"MODEL_{name.upper()}": text})
    else:
        found = load({f"MODEL_{name.upper()}": text})
        assert ModelParameters(**{name: getattr(found, f"model_{name}")}) == parameters


def test_the_effort_of_azure_is_one_that_there_is() -> None:
    with pytest.raises(SettingsError, match=r"^AZURE_OPENAI_REASONING_EFFORT must be one of none, minimal, low"):
        load({"AZURE_OPENAI_REASONING_EFFORT": "much"})


def test_the_effort_of_every_model_wins_over_that_of_azure() -> None:
    keys = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com", "MODEL": "azure:mine"}
    own = load(keys | {"AZURE_OPENAI_REASONING_EFFORT": "low"})
    general = load(keys | {"AZURE_OPENAI_REASONING_EFFORT": "low", "MODEL_REASONING_EFFORT": "high"})
    efforts = [build_models(each).load_model().reasoning_effort for each in (own, general)]  # type: ignore[attr-defined]
    assert efforts == ["low", "high"]


@pytest.mark.parametrize("key", ["TOOLS_ENABLED", "TOOLS_APPROVAL"])
def test_an_unknown_tool_is_named_by_its_key_and_not_by_its_value(key: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{key} must be a list of tools' names: [a-z_, ]+\.$") as refused:
        build_tools(load({key: "calculator, secret-name"}))
    assert "secret-name" not in str(refused.value)


def test_an_unusable_model_is_named_by_the_setting_that_offers_it(tmp_path: Path) -> None:
    path = tmp_path / "waymark.toml"
    path.write_text('[models]\noffered = ["opnai:x"]\n[tools]\nenabled = ["secret-name"]\n')
    found = load_settings({}, dotenv=Path("no.env"), tables=path)
    for settings, source in (
        (found, r"\[models\] offered in waymark.toml"),
        (load({"MODELS_OFFERED": "x"}), "MODELS_OFFERED"),
    ):
        with pytest.raises(ModelConfigurationError, match=f"^{source} must be openai:NAME"):
            build_models(settings)
    with pytest.raises(ModelConfigurationError, match=r"^MODEL must be openai:NAME"):
        build_models(load({"MODEL": "x", "MODELS_OFFERED": "x"}))
    with pytest.raises(SettingsError, match=r"^\[tools\] enabled in waymark.toml must be a list"):
        build_tools(found)


@pytest.mark.parametrize("place", [".", "data", "data/below", "secret"])
def test_a_folder_of_files_holds_neither_keys_nor_the_data(tmp_path: Path, place: str) -> None:
    for name in ("data/below", "secret", "files"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secret" / ".env").write_text("OPENAI_API_KEY=sk-canary")
    given = {"DATA_DIR": str(tmp_path / "data")}
    build_tools(load_settings({**given, "FILES_DIR": str(tmp_path / "files")}))
    with pytest.raises(SettingsError, match="FILES_DIR"):
        build_tools(load_settings({**given, "FILES_DIR": str(tmp_path / place)}))


def test_a_model_for_titles_that_cannot_be_used_is_one_sentence_that_names_its_key() -> None:
    settings = load({"TITLES_MODEL": "small"})
    with pytest.raises(SettingsError, match="TITLES_MODEL"):
        check_titles(settings, build_models(settings))
    check_titles(Settings(), build_models(Settings()))
