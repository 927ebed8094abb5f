"""The provider's reason is read without a key, bounded, on one line; other errors say nothing here."""

from types import SimpleNamespace

import httpx2
import openai
import pytest
from pydantic import SecretStr

import agent.models.provider_words
from agent.models.provider_words import (
    MASK,
    MAX_READ_CHARS,
    MAX_WORDS_CHARS,
    attach_keys,
    read_provider_words,
)

KEY = "plainkey0987"
REQUEST = httpx2.Request("POST", "https://api.example/v1/chat/completions", headers={"Authorization": f"Bearer {KEY}"})


def refusal(message: object, **fields: str) -> openai.BadRequestError:
    response = httpx2.Response(400, request=REQUEST)
    return openai.BadRequestError(f"Error code: 400 - {message}", response=response, body={"message": message, **fields})


def test_status_message_and_code_are_one_line() -> None:
    words = read_provider_words(refusal("Unsupported\nvalue\u202e: 'x'", code="unsupported_value", param="x"))
    assert words == "HTTP 400: Unsupported value: 'x' (code: unsupported_value, param: x)"


@pytest.mark.parametrize(
    "secret",
    [KEY, "sk-proj-abc_def-123456", "sk-very-********6789", "AIzaSyA-1234567890abcdef", "Bearer abc.def", "?key=abc123",
     "0123456789abcdef0123456789abcdef", "abcd1234...wxyz9876", "abcd…wxyz9876", "AQ.Ab8RN6Kx_y-z", "AQ.…"],
)  # fmt: skip
def test_keys_are_taken_out(secret: str) -> None:
    words = read_provider_words(refusal(f"Incorrect API key provided: {secret}. See the page."))
    assert words is not None
    assert secret.removeprefix("Bearer ").removeprefix("?key=") not in words
    assert MASK in words
    assert words.startswith("HTTP 400: Incorrect API key provided: ")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ('{"key":"abc-def-ghi"}', '{"key":"***"}'),
        ("api_key: 'my-secret-key-12' is wrong", "api_key: '***' is wrong"),
        ("no route to http://user:hunter2@host/v1", "no route to http://***@host/v1"),
        ("no route to user:hunter2@host", "no route to user:***@host"),
        ("max_tokens: 4096, prompt_tokens=12", "max_tokens: 4096, prompt_tokens=12"),
        ("wait...then", "wait...then"),
    ],
)
def test_only_the_key_of_a_sentence_is_taken_out(words: str, shown: str) -> None:
    assert read_provider_words(refusal(words)) == f"HTTP 400: {shown}"


def test_the_keys_of_the_model_are_taken_out_whatever_they_look_like() -> None:
    error = RuntimeError("no")
    error.__cause__ = refusal("Wrong: open sesame!")
    attach_keys(error, [SecretStr("open sesame!")])
    assert read_provider_words(error) == f"HTTP 400: Wrong: {MASK}"


def test_an_error_that_no_provider_sent_has_no_words() -> None:
    assert read_provider_words(ValueError("my secret plan")) is None


@pytest.mark.parametrize("piece", ["a", "a-", "1", "*", "a.", "a:", "a@", "://", "key=", "a1"])
def test_only_the_beginning_of_a_long_text_is_read(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    patterns = [agent.models.provider_words._KEYS, agent.models.provider_words._LABELLED_KEYS]
    for name, pattern in zip(("_KEYS", "_LABELLED_KEYS"), patterns, strict=True):
        sub = lambda mask, text, pattern=pattern: searched.append(text) or pattern.sub(mask, text)  # noqa: E731
        monkeypatch.setattr(agent.models.provider_words, name, SimpleNamespace(sub=sub))
    read_provider_words(refusal((piece * 500 + " ") * 2_000))
    assert searched
    assert all(len(text) <= MAX_READ_CHARS for text in searched)


def test_a_key_that_is_cut_is_not_shown() -> None:
    words = read_provider_words(refusal(f"{'sk-aaaaaa ' * 499}plain{KEY * 100}"))
    assert words is not None
    assert "plain" not in words


def test_names_of_models_stay() -> None:
    assert "claude-3-5-sonnet-20241022" in str(read_provider_words(refusal("no model claude-3-5-sonnet-20241022")))


def test_the_words_are_bounded() -> None:
    assert len(read_provider_words(refusal("no " * 10_000)) or "") <= MAX_WORDS_CHARS


@pytest.mark.parametrize("body", [{"error": {"message": "slow down"}}, {"message": "slow down"}])
def test_the_reason_is_found_behind_other_errors(body: object) -> None:
    error = RuntimeError("the conversation")
    error.__cause__ = openai.APIError("no", REQUEST, body=body)
    assert read_provider_words(error) == "slow down"


@pytest.mark.parametrize("error", [ValueError("a text"), TimeoutError(), openai.APIConnectionError(request=REQUEST)])
def test_an_error_of_nobody_else_has_no_words(error: Exception) -> None:
    assert read_provider_words(error) is None
