"""The client of a provider: what it believes of tokens, keys and descriptions, and which trouble it survives."""

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.requests import Request

from extensions.people import provider
from extensions.people.provider import Client, Provider
from extensions.people.provider_claims import Claims, GroupRoles, read_groups, read_person_name
from extensions.people.sign_in_errors import OUTDATED, REPORTED, UNREACHABLE, UNVERIFIED, SignInError
from tests.fakes.oidc import CLIENT, DISCOVERY, SECRET, FakeProvider, hang, make_key, make_rsa_key, reply_with

JSON = dict[str, Any]
REDIRECT = "https://waymark.example/sign-in/callback"


@pytest.fixture
def identity_provider() -> Iterator[FakeProvider]:
    with FakeProvider() as found:
        yield found


def make_client(at: FakeProvider, secret: str = SECRET) -> Provider:
    return Provider(at.issuer, Client(CLIENT, secret, REDIRECT, "openid profile", wanted_claims=("groups",)))


def ask(query: str = "", session: JSON | None = None) -> Request:
    scope = {"type": "http", "method": "GET", "query_string": query.encode(), "headers": []}
    return Request(scope | {"session": {} if session is None else session})


async def sign_in(
    own: Provider, at: FakeProvider, prepare: Callable[[FakeProvider], None] = lambda _: None, **claims: Any
) -> Claims:
    """Let somebody go to the provider and come back."""
    begun = ask()
    callback = at.authorize(await own.begin(begun), **claims)
    prepare(at)
    return await own.identify(ask(urlsplit(callback).query, begun.session))


def find_refusal(at: FakeProvider, prepare: Callable[[FakeProvider], None], **claims: Any) -> str:
    with pytest.raises(SignInError) as caught:
        asyncio.run(sign_in(make_client(at), at, prepare, **claims))
    return caught.value.text


def sign_by_hand(header: JSON, claims: JSON, key: bytes = b"") -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in (header, claims)]
    digest = hmac.new(key, b".".join(parts), hashlib.sha256).digest() if key else b""
    return b".".join([*parts, base64.urlsafe_b64encode(digest).rstrip(b"=")]).decode()


def sign_with(make: Callable[[], Any]) -> Callable[[FakeProvider], None]:
    def prepare(at: FakeProvider) -> None:
        at.keys = [make()]
        at.answers["/keys"] = reply_with(json.dumps({"keys": [make_rsa_key("first").as_dict(private=False)]}).encode())

    return prepare


def sign_without(at: FakeProvider) -> None:
    at.sign = lambda claims: sign_by_hand({"alg": "none"}, claims)


def confuse_keys(at: FakeProvider) -> None:
    public = make_rsa_key("first").as_pem(private=False)
    at.sign = lambda claims: sign_by_hand({"alg": "HS256", "kid": "first"}, claims, public)


def confuse_secrets(at: FakeProvider) -> None:
    at.sign = lambda claims: sign_by_hand({"alg": "HS256"}, claims, SECRET.encode())


def bring_key(at: FakeProvider) -> None:
    own = make_key("evil")
    at.sign = lambda claims: jwt.encode({"alg": "ES256", "jwk": own.as_dict(private=False)}, claims, own)


def claim(**claims: Any) -> Callable[[FakeProvider], None]:
    return lambda at: at.claims.update(claims)


NOW = int(time.time())
LIES: dict[str, Callable[[FakeProvider], None]] = {
    "another nonce": claim(nonce="x"),
    "no nonce": claim(nonce=None),
    "another audience": claim(aud="another"),
    "another audience, for this client": claim(aud="another", azp=CLIENT),
    "no audience": claim(aud=None),
    "an audience among others": claim(aud=[CLIENT, "another"]),
    "an audience among others for another": claim(aud=[CLIENT, "another"], azp="another"),
    "for another": claim(azp="another"),
    "another issuer": claim(iss="https://evil.example"),
    "no issuer": claim(iss=None),
    "a slash more": lambda at: at.claims.update(iss=at.issuer + "/"),
    "expired": claim(exp=NOW - 100),
    "never ends": claim(exp=float("1e400")),
    "no end": claim(exp=None),
    "of tomorrow": claim(iat=NOW + 86400),
    "not yet": claim(nbf=NOW + 86400),
    "no subject": claim(sub=None),
    "an empty subject": claim(sub=""),
    "a subject of numbers": claim(sub=7),
    "another access token": claim(at_hash="x" * 22),
    "an access token that is no text": claim(at_hash=[1]),
    "no signature": sign_without,
    "a public key as a secret": confuse_keys,
    "the client's secret": confuse_secrets,
    "a key of its own": sign_with(partial(make_key, "evil")),
    "another key of the same name": sign_with(partial(make_rsa_key, "first ")),
    "a key in the token": bring_key,
    "no keys": lambda at: at.answers.update({"/keys": reply_with(b'{"keys": []}')}),
    "keys of nothing": lambda at: at.answers.update({"/keys": reply_with(b'{"keys": [{"kty": "RSA", "n": 1}]}')}),
    "no token": lambda at: setattr(at, "sign", lambda _: ""),
    "nonsense": lambda at: setattr(at, "sign", lambda _: "a.b.c"),
    "a number": lambda at: setattr(at, "sign", lambda _: 7),
    "a token of a megabyte": claim(x="x" * 200_000),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_is_not_for_this_sign_in_is_refused(identity_provider: FakeProvider, lie: str) -> None:
    assert find_refusal(identity_provider, LIES[lie], groups=["staff"]) == UNVERIFIED


@pytest.mark.parametrize("make", [partial(make_rsa_key, "first"), partial(make_key, "curve")], ids=["RS256", "ES256"])
def test_a_hash_of_the_access_token_and_an_audience_of_several_may_be_right(
    identity_provider: FakeProvider, make: Callable[[], Any]
) -> None:
    identity_provider.keys = [make()]
    half = hashlib.sha256(b"the access token").digest()[:16]
    at_hash = base64.urlsafe_b64encode(half).rstrip(b"=").decode()
    given: JSON = {"sub": "1", "at_hash": at_hash, "aud": [CLIENT, "another"], "azp": CLIENT, "groups": []}
    claims = asyncio.run(sign_in(make_client(identity_provider), identity_provider, **given))
    assert {name: claims[name] for name in given} == given


def test_keys_are_read_again_when_the_provider_has_replaced_them(identity_provider: FakeProvider) -> None:
    async def story() -> None:
        own = make_client(identity_provider)
        for keys in ([make_rsa_key("first")], [make_rsa_key("first"), make_key("second")], [make_key("third")]):
            identity_provider.keys = keys
            for _ in range(2):
                await sign_in(own, identity_provider, groups=[])
        paths = identity_provider.requests
        assert (paths.count("/keys"), paths.count(DISCOVERY)) == (3, 1)

    asyncio.run(story())


def test_a_key_that_took_the_name_of_another_is_known_at_the_next_sign_in(identity_provider: FakeProvider) -> None:
    async def story() -> None:
        own = make_client(identity_provider)
        await sign_in(own, identity_provider, groups=[])
        identity_provider.keys = [RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})]
        with pytest.raises(SignInError, match="bad_signature"):
            await sign_in(own, identity_provider, groups=[])
        await sign_in(own, identity_provider, groups=[])

    asyncio.run(story())


def test_the_keys_of_a_provider_are_read_again_after_an_hour(identity_provider: FakeProvider) -> None:
    moments = [0]

    async def story() -> None:
        own = Provider(identity_provider.issuer, make_client(identity_provider)._client, lambda: moments[-1])
        for moment, times in ((0, 1), (3599, 1), (3600, 2)):
            moments.append(moment)
            await sign_in(own, identity_provider, groups=[])
            assert [identity_provider.requests.count(path) for path in (DISCOVERY, "/keys")] == [times] * 2

    asyncio.run(story())


def test_a_sign_in_that_one_process_began_is_finished_by_another(identity_provider: FakeProvider) -> None:
    async def story() -> None:
        begun = ask()
        callback = identity_provider.authorize(await make_client(identity_provider).begin(begun), groups=[])
        kept = json.loads(json.dumps(begun.session))
        claims = await make_client(identity_provider).identify(ask(urlsplit(callback).query, kept))
        assert claims["sub"] == "1"

    asyncio.run(story())


@pytest.mark.parametrize("announced", [False, True])
def test_an_answer_says_which_provider_it_is_of_where_that_one_does(
    identity_provider: FakeProvider, announced: bool
) -> None:
    identity_provider.metadata["authorization_response_iss_parameter_supported"] = announced
    refused = []

    async def story() -> None:
        own = make_client(identity_provider)
        for issuer in ("https://evil.example", identity_provider.issuer + "/", None, identity_provider.issuer):
            begun = ask()
            callback = identity_provider.authorize(await own.begin(begun), groups=[])
            query = dict(parse_qsl(urlsplit(callback).query)) | {"iss": issuer}
            answer = urlencode({name: value for name, value in query.items() if value is not None})
            try:
                await own.identify(ask(answer, begun.session))
            except SignInError:
                refused.append(issuer)

    asyncio.run(story())
    assert refused == ["https://evil.example", identity_provider.issuer + "/", *([None] if announced else [])]


def test_what_the_token_lacks_is_asked_for_and_changes_nothing_that_it_says(identity_provider: FakeProvider) -> None:
    identity_provider.userinfo = {"sub": "1", "groups": ["bosses"], "name": "Bob", "nonce": "x"}

    async def story() -> None:
        own = make_client(identity_provider)
        found = await sign_in(own, identity_provider, name="Ann")
        assert (found["name"], found["groups"], found["nonce"] == "x") == ("Ann", ["bosses"], False)
        assert (await sign_in(own, identity_provider, groups=[]))["groups"] == []
        others: list[Any] = [{"groups": ["bosses"]}, {"sub": "2", "groups": ["bosses"]}, []]
        for other in others:
            identity_provider.userinfo = other
            with pytest.raises(SignInError) as caught:
                await sign_in(own, identity_provider)
            assert caught.value.text == UNVERIFIED

    asyncio.run(story())


TROUBLE: dict[str, Callable[[FakeProvider], None]] = {
    "down": lambda at: at.stop(),
    "silent": lambda at: at.answers.update({DISCOVERY: hang}),
    "huge": lambda at: at.answers.update({DISCOVERY: reply_with(b'{"x": "' + b"x" * 1_000_000 + b'"}')}),
    "packed": lambda at: at.answers.update(
        {DISCOVERY: reply_with(gzip.compress(b" " * 10_000_000), content_encoding="gzip")}
    ),
    "nested": lambda at: at.answers.update({DISCOVERY: reply_with(b"[" * 200_000)}),
    "a failure": lambda at: at.answers.update({DISCOVERY: reply_with(b"{}", 500)}),
    "moved": lambda at: at.answers.update({DISCOVERY: reply_with(b"", 302, location="https://evil.example/")}),
    "a list": lambda at: at.answers.update({DISCOVERY: reply_with(b"[]")}),
    "no addresses": lambda at: at.metadata.pop("token_endpoint") and None,
    "an address without TLS": lambda at: at.metadata.update(token_endpoint="http://evil.example/token"),
    "a script": lambda at: at.metadata.update(authorization_endpoint="javascript:alert(1)"),
    "another issuer": lambda at: at.metadata.update(issuer="https://evil.example"),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_provider_in_trouble_is_one_sentence(
    identity_provider: FakeProvider, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "MAX_SECONDS", 0.1 if trouble == "silent" else 60)
    TROUBLE[trouble](identity_provider)
    with pytest.raises(SignInError) as caught:
        asyncio.run(make_client(identity_provider).begin(ask()))
    assert caught.value.text == UNREACHABLE


LATER: dict[str, Callable[[FakeProvider], None]] = {
    "keys that are no keys": lambda at: at.answers.update({"/keys": reply_with(b"[1]")}),
    "huge keys": lambda at: at.answers.update({"/keys": reply_with(b" " * 1_000_000)}),
    "no token": lambda at: at.answers.update({"/token": reply_with(b"<html>")}),
    "a failing token": lambda at: at.answers.update({"/token": reply_with(b"{}", 503)}),
    "a huge token": lambda at: at.answers.update({"/token": reply_with(b" " * 1_000_000)}),
    "a token that ends nonsensically": lambda at: at.answers.update({"/token": reply_with(b'{"expires_in": "x"}')}),
    "a silent token": lambda at: at.answers.update({"/token": hang}),
    "down": lambda at: at.stop(),
}


@pytest.mark.parametrize("trouble", LATER)
def test_trouble_on_the_way_back_is_one_sentence(
    identity_provider: FakeProvider, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(at: FakeProvider) -> None:
        monkeypatch.setattr(provider, "MAX_SECONDS", 0.1 if "silent" in trouble else 60)
        LATER[trouble](at)

    assert find_refusal(identity_provider, prepare) == UNREACHABLE


@pytest.mark.parametrize("path", [DISCOVERY, "/keys", "/token", "/userinfo"])
def test_no_answer_is_read_beyond_its_limit(identity_provider: FakeProvider, path: str) -> None:
    identity_provider.answers[path] = reply_with(b" " * 1_000_000)
    with pytest.raises(SignInError, match="more than 300,000 bytes"):
        asyncio.run(sign_in(make_client(identity_provider), identity_provider))


@pytest.mark.parametrize(("error", "text"), [("invalid_grant", OUTDATED), ("invalid_client", REPORTED)])
def test_a_code_that_the_provider_refuses_is_told(identity_provider: FakeProvider, error: str, text: str) -> None:
    reply = reply_with(json.dumps({"error": error, "error_description": "x"}).encode(), 400)
    assert find_refusal(identity_provider, lambda at: at.answers.update({"/token": reply})) == text


@pytest.mark.parametrize(
    ("methods", "secret"),
    [
        (["client_secret_basic"], SECRET),
        (["client_secret_post"], SECRET),
        (["client_secret_post", "none"], ""),
        (None, SECRET),
    ],
)
def test_the_client_shows_its_secret_as_the_provider_wants_it(
    identity_provider: FakeProvider, methods: list[str] | None, secret: str
) -> None:
    identity_provider.secret = secret
    if methods:
        identity_provider.metadata["token_endpoint_auth_methods_supported"] = methods
    claims = asyncio.run(sign_in(make_client(identity_provider, secret), identity_provider, groups=[]))
    assert claims["sub"] == "1"


GROUPS: list[tuple[object, str | None]] = [
    (["bosses", "staff"], "admin"),
    (["crew"], "member"),
    ("staff", "member"),
    (["user_graphs", "staff"], "member"),
    (["user_graphs"], "reader"),
    ([], None),
    (["STAFF", "staff ", "staff,crew"], None),
    ([["staff"], {"staff": 1}, None, 7], None),
    ({"staff": True}, None),
    (None, None),
]


@pytest.mark.parametrize(("groups", "role"), GROUPS)
def test_the_first_role_of_somebodys_groups_counts(groups: object, role: str | None) -> None:
    roles = GroupRoles(frozenset({"bosses"}), frozenset({"staff", "crew"}), frozenset({"user_graphs"}))
    assert roles.choose_role(read_groups({"groups": groups}, ["groups"])) == role


@pytest.mark.parametrize(("verified", "found"), [(True, {"a@b.example"}), (False, set()), ("true", set()), (None, set())])
def test_an_address_of_mail_is_a_group_only_if_it_is_verified(verified: object, found: set[str]) -> None:
    claims = {"email": "a@b.example", "email_verified": verified, "hd": "b.example"}
    assert read_groups(claims, ["email"]) == found
    assert read_groups(claims, ["email", "hd"]) == found | {"b.example"}


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "Ann", "email": "a@b.example", "email_verified": True, "preferred_username": "ann"}, "Ann (a@b.example)"),
        ({"name": "Ann", "email": "a@b.example", "preferred_username": "ann"}, "Ann (ann)"),
        ({"name": "Ann", "email": "a@b.example"}, "Ann"),
        ({"name": "ann", "preferred_username": "ann"}, "ann"),
        ({"preferred_username": "ann"}, "ann"),
        ({"name": ["Ann"], "email": 7, "email_verified": True}, ""),
    ],
)
def test_a_person_is_shown_by_name_and_an_address_that_is_theirs(claims: JSON, name: str) -> None:
    assert read_person_name(claims) == name
