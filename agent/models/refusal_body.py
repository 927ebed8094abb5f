"""The body of a provider's refusal. Servers write it in many shapes. OpenAI's client keeps all of them as `body`."""

from collections.abc import Mapping

# Longer words are cut.
MAX_READ_CHARS = 5_000
# The depth at which words are searched in a body.
_MAX_LEVELS = 4
# The keys of OpenAI and Anthropic, of Ollama and others, of FastAPI, and of vLLM.
_MESSAGE_KEYS = ("message", "error", "detail", "msg")


class ReportedFailure(Exception):
    """A failure that a provider reports within its answer. `body` is the error, as in a refused request."""

    def __init__(self, body: object) -> None:
        super().__init__("the provider reported a failure")
        self.body = body
        self.code = body.get("code") if isinstance(body, Mapping) else None
        self.type = body.get("type") if isinstance(body, Mapping) else None


def read_words(error: BaseException) -> str:
    """Return an error's text with the provider's words, which a client may have left out of the text."""
    text, message = str(error)[:MAX_READ_CHARS], find_message(error)
    return text if message in text else f"{text}: {message}"


def find_message(error: BaseException) -> str:
    """Return the message of an error's body, or an empty text."""
    return _read_message(getattr(error, "body", None), _MAX_LEVELS)[:MAX_READ_CHARS]


def read_error_object(error: BaseException) -> Mapping[str, object]:
    """Return the error object in an error's body, or an empty mapping."""
    body = getattr(error, "body", None)
    # Gemini's compatible address sends a list.
    if isinstance(body, list) and body:
        body = body[0]
    # Anthropic nests the error. OpenAI's client takes it out.
    within = body.get("error") if isinstance(body, Mapping) else None
    found = within if isinstance(within, Mapping) else body
    return found if isinstance(found, Mapping) else {}


def _read_message(body: object, levels: int) -> str:
    if isinstance(body, str):
        return body.strip()
    if levels == 0:
        return ""
    if isinstance(body, Mapping):
        values = [body[key] for key in _MESSAGE_KEYS if body.get(key)]
        return str(values[0]) if values and _is_list_of_fields(values[0]) else _first_message(values, levels)
    return _first_message(body, levels) if isinstance(body, list) else ""


def _first_message(values: list[object], levels: int) -> str:
    return next((message for value in values if (message := _read_message(value, levels - 1))), "")


def _is_list_of_fields(value: object) -> bool:
    """Return whether a value is FastAPI's list of invalid fields, each with its place and its reason."""
    return isinstance(value, list) and any(isinstance(each, Mapping) and "loc" in each for each in value)
