"""The words of a provider that refused a request, without keys, for the log and for the page behind “Details”."""

import re
from collections.abc import Iterator, Mapping

from agent.models.errors import iterate_causes, read_status
from checkpoints import serde
from checkpoints.text import shorten_line

MAX_WORDS_CHARS = 500  # characters
MASK = "***"
_KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_MIN_KEY_CHARS = 6  # a shorter value of a header is no key, and may be a common word
_KEYS = re.compile(
    r"\b(?:sk|pk|gsk|xai|hf|tvly|AIza|ghp|nvapi)[-_][\w*.-]{6,}|\bAIza[\w*-]{6,}"  # by their first letters
    r"|[\w-]*\*{3,}[\w-]*"  # shortened by the provider: its beginning and its end are readable
    r"|(?<=bearer )\S+|(?<=key=)[^\s&]+"
    r"|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24,}\b",  # a long word of letters and digits
    re.IGNORECASE,
)


def read_provider_words(error: BaseException) -> str | None:
    """Return the provider's reason as one bounded line without keys; None if the error did not come from a provider.

    Other errors may quote the conversation.
    """
    refusal = next((link for link in iterate_causes(error) if read_status(link) or _read_body(link)), None)
    if refusal is None:
        return None
    text = " ".join(_list_words(refusal))
    for key in _find_sent_keys(refusal):
        text = text.replace(key, MASK)
    visible = "".join(each for each in " ".join(serde.sanitize_text(text).split()) if each.isprintable())
    return shorten_line(_KEYS.sub(MASK, visible), MAX_WORDS_CHARS) or None


def _list_words(refusal: BaseException) -> Iterator[str]:
    """Return the status, and the message of the body; without a body, the text of the error."""
    body = _read_body(refusal)
    message = body.get("message")
    if status := read_status(refusal):
        yield f"HTTP {status}:"
    yield message if isinstance(message, str) and message.strip() else str(refusal)
    named = [f"{name}: {body[name]}" for name in ("code", "type", "param") if isinstance(body.get(name), str)]
    if named:
        yield f"({', '.join(named)})"


def _read_body(error: BaseException) -> Mapping[str, object]:
    """Return the error's object in an answer's body; empty without one."""
    body = getattr(error, "body", None)
    within = body.get("error") if isinstance(body, Mapping) else None  # of Anthropic; OpenAI's client takes it out
    found = within if isinstance(within, Mapping) else body
    return found if isinstance(found, Mapping) else {}


def _find_sent_keys(error: BaseException) -> list[str]:
    """Return the keys in the headers of the refused request."""
    request = getattr(error, "request", None) or getattr(getattr(error, "response", None), "_request", None)
    headers = getattr(request, "headers", None) or {}
    keys = [str(headers.get(name) or "").split(" ")[-1] for name in _KEY_HEADERS]
    return [key for key in keys if len(key) >= _MIN_KEY_CHARS]
