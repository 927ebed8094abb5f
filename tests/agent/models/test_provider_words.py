"""The provider's reason is read without a key, bounded, on one line; other errors say nothing here."""

import httpx2
import openai
import pytest

from agent.models.provider_words import MASK, MAX_WORDS_CHARS, read_provider_words

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
     "0123456789abcdef0123456789abcdef"],
)  # fmt: skip
def test_keys_are_taken_out(secret: str) -> None:
    words = read_provider_words(refusal(f"Incorrect API key provided: {secret}. See the page."))
    assert words is not None
    assert secret.removeprefix("Bearer ").removeprefix("?key=") not in words
    assert MASK in words
    assert words.startswith("HTTP 400: Incorrect API key provided: ")


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
