"""Parameters reach the wire under each interface's own names, and a bad one is a sentence."""

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from pydantic import SecretStr

from agent.models.catalog import DEMO_SPEC, ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from agent.models.parameters import InvalidParameterError, ModelParameters, apply_parameters, parse_parameters
from agent.settings import InvalidSettingsError
from checkpoints.values.limits import MAX_EXTRA_BODY_CHARS
from tests.agent.running import KEY, model_at, running
from tests.fakes.openai import FakeOpenAI, Fault, Say

ALL = ModelParameters(0.0, 0.5, 99, "high", '{"seed": 7}')
GLOBAL = ModelParameters(temperature=1.5, extra_body='{"seed": 7}')


def ask(spec: str, general: ModelParameters, own: ModelParameters = ModelParameters()) -> dict[str, Any]:  # noqa: B008
    """The body of a request to this model."""

    async def story(fake: FakeOpenAI) -> None:
        keys = ProviderKeys(openai_api_key=SecretStr(KEY), openai_base_url=fake.base_url)
        model: Any = ConfiguredModels(keys, spec, parameters=general).load_model(spec, own)
        async for _ in model.astream("hello"):
            pass
        await model.root_async_client.close()

    with FakeOpenAI() as fake:
        fake.reply(Say("Hi."))
        asyncio.run(story(fake))
        return dict(fake.requests[0])


def test_chat_completions_get_every_parameter() -> None:
    body = ask("openai:some", ALL)
    assert (body["temperature"], body["top_p"], body["reasoning_effort"], body["seed"]) == (0, 0.5, "high", 7)
    assert body["max_completion_tokens"] == 99


def test_responses_get_every_parameter_under_their_names() -> None:
    body = ask("openai-responses:some", ALL)
    assert (body["temperature"], body["top_p"], body["seed"]) == (0, 0.5, 7)
    assert (body["max_output_tokens"], body["reasoning"]["effort"]) == (99, "high")


def test_without_parameters_nothing_is_sent() -> None:
    names = {"temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort", "extra_body"}
    assert not names & set(ask("openai:some", ModelParameters()))


def test_a_conversation_overrides_the_apps_parameters_one_by_one() -> None:
    body = ask("openai:some", GLOBAL, ModelParameters(temperature=0.2, extra_body='{"top_k": 3}'))
    assert (body["temperature"], body["seed"], body["top_k"]) == (0.2, 7, 3)


def test_the_same_parameters_are_the_same_model_and_the_demo_ignores_them() -> None:
    models = ConfiguredModels(ProviderKeys(openai_api_key=SecretStr(KEY)), "openai:some")
    assert models.load_model(None, ALL) is models.load_model("openai:some", ALL)
    assert models.load_model() is not models.load_model(None, ALL)
    assert models.load_model(DEMO_SPEC, ALL) is models.load_model(DEMO_SPEC)


def test_written_parameters_are_read() -> None:
    written = {"temperature": " 0.2", "top_p": "1", "max_tokens": "99", "reasoning_effort": "low", "extra_body": "{}"}
    assert parse_parameters({**written, "model": "demo"}) == ModelParameters(0.2, 1.0, 99, "low", "{}")
    assert parse_parameters({"temperature": ""}) == ModelParameters()


def refuse(message: str, chosen: dict[str, str], general: ModelParameters = ModelParameters()) -> str:  # noqa: B008
    """The sentence of a run whose request is refused with this message."""

    async def whole(fake: FakeOpenAI) -> str:
        async with model_at(fake) as model, running(apply_parameters(model, general)) as chat:
            chat.store.change_settings(chat.thread_id, chosen)
            return (await chat.say("hello")).error or ""

    with FakeOpenAI() as fake:
        fake.reply(Fault("status", status=400, message=message))
        return asyncio.run(whole(fake)).partition(" (reference")[0]


NAMED = "The model provider did not accept the request. The model's parameters set these fields of it: "


@pytest.mark.parametrize(
    ("message", "chosen", "general", "named"),
    [
        ("Extra inputs are not permitted: top_k", {"extra_body": '{"top_k": 3, "min_p": 1}', "top_p": "1"}, None, "top_k"),
        ("max_completion_tokens is too large: 9", {"max_tokens": "9"}, None, "max_completion_tokens"),
        ("Unknown field seed.", {"temperature": "1"}, GLOBAL, "seed"),
        ("Bad request", {"temperature": "1", "extra_body": '{"top_k": 3, "a b": 1}'}, None, "temperature, top_k"),
        ("Bad stopwatch_temperature", {}, GLOBAL, ""),
        ("Bad request", {}, None, ""),
    ],
)
def test_a_refusal_names_the_fields_that_the_parameters_set(
    message: str, chosen: dict[str, str], general: ModelParameters | None, named: str
) -> None:
    sentence = refuse(message, chosen, general or ModelParameters())
    assert sentence == (f"{NAMED}{named}." if named else "The model provider did not accept the request.")


def test_a_model_that_cannot_send_an_extra_body_says_so() -> None:
    async def whole() -> None:
        async with running(FakeListChatModel(responses=["Hi."])) as chat:
            chat.store.change_settings(chat.thread_id, {"extra_body": '{"seed": 7}'})
            with pytest.raises(InvalidSettingsError, match="takes no extra body; remove it from the model's parameters"):
                await chat.say("hello")

    asyncio.run(whole())
    with pytest.raises(ModelConfigurationError, match="takes no extra body"):
        apply_parameters(FakeListChatModel(responses=[]), GLOBAL)


EXTRA_BODY_RULE = (
    "The extra body must be a JSON object of at most 4,000 characters, without messages, input, model, stream, tools, n."
)


@pytest.mark.parametrize("letter", ["a", "é", "🙂"])
def test_an_extra_body_is_counted_in_characters_as_written(letter: str) -> None:
    def write(chars: int) -> str:
        return f'{{"a":["{letter * (chars - 12)}",1]}}'

    longest = write(MAX_EXTRA_BODY_CHARS)
    assert (len(longest), parse_parameters({"extra_body": longest}).extra_body) == (MAX_EXTRA_BODY_CHARS, longest)
    with pytest.raises(InvalidParameterError, match="at most 4,000 characters"):
        parse_parameters({"extra_body": write(MAX_EXTRA_BODY_CHARS + 1)})


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("temperature", "2.1", "The temperature must be a number from 0 to 2."),
        ("temperature", "nan", "The temperature must be a number from 0 to 2."),
        ("top_p", "high", "Top P must be a number from 0 to 1."),
        ("max_tokens", "0", "The longest answer must be a whole number of tokens from 1 to 999,999,999."),
        ("max_tokens", "1.5", "The longest answer must be a whole number of tokens from 1 to 999,999,999."),
        ("reasoning_effort", "much", "The reasoning effort must be one of none, minimal, low, medium, high, xhigh."),
        ("extra_body", "[]", EXTRA_BODY_RULE),
        ("extra_body", "{" * 9, EXTRA_BODY_RULE),
        ("extra_body", '{"a": NaN}', EXTRA_BODY_RULE),
        ("extra_body", '{"a": 1e999}', EXTRA_BODY_RULE),
        ("extra_body", '{"x": "\\ud800"}', EXTRA_BODY_RULE),
        ("extra_body", '{"messages": []}', EXTRA_BODY_RULE),
        ("extra_body", '{"n": 2}', EXTRA_BODY_RULE),
    ],
)
def test_a_bad_parameter_is_a_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        parse_parameters({name: text})
    assert str(refused.value) == sentence
