"""The words of a refusing provider, without keys, for the log and for the page behind “Details”."""

import re
from collections.abc import Collection, Iterator

from pydantic import SecretStr

from agent.models.errors import iterate_causes, read_status
from agent.models.refusal_body import MAX_READ_CHARS, find_message, read_error_object
from checkpoints.values import serde
from checkpoints.values.text import shorten_line

MAX_WORDS_CHARS = 500
MASK = "***"
# The attribute of an error for the keys of its model.
_KEYS_ATTRIBUTE = "_waymark_keys"
_KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
# A shorter value of a header is not a key, and may be a common word.
_MIN_KEY_CHARS = 6
# Keys are found by their first letters, in the shortened form of some providers, in headers and addresses, and as long words
# of letters and digits. Each pattern begins with fixed text or at a word boundary, and repeats one class, so no text is
# searched twice.
_KEYS = re.compile(
    r"""\b(?:sk|pk|gsk|xai|hf|tvly|ghp|gho|github_pat|nvapi|rk|pplx)[-_][\w*.-]{6,}"""
    r"""|\b(?:AIza|AKIA|ASIA|ABSK|eyJ)[\w*.=-]{6,}|\b(?:AQ|ya29)\.[\w*.…-]+"""
    r"""|(?<![\w-])[\w-]*\*{3,}[\w*-]*"""
    r"""|(?<![\w-])(?=[\w-]*\d)[\w-]+(?:\.{3}|…)[\w-]+|(?<![\w-])[\w-]+(?:\.{3}|…)(?=[\w-]*\d)[\w-]+"""
    r"""|(?<=bearer )\S+|(?<=://)[^\s/@:]{1,100}:[^\s/@]{1,200}(?=@)|(?<=:)(?!//)[^\s/@:'",]{3,200}(?=@)"""
    r"""|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24,}\b""",
    re.IGNORECASE,
)
_LABELLED_KEYS = re.compile(
    r"""((?:\bkey|[-_. ]key|apikey|secret|passw(?:or)?d|\btoken|_token|credential)['"]?\s?[:=]\s?['"]?)"""
    r"""(?!\d+\b)[^\s'",&;(){}\[\]]{3,}""",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w.\[\]-]{1,100}", re.ASCII)


def attach_keys(error: BaseException, keys: Collection[SecretStr]) -> None:
    """Attach a model's keys to its error, so `read_provider_words` masks them exactly."""
    setattr(error, _KEYS_ATTRIBUTE, tuple(keys))


def read_provider_words(error: BaseException) -> str | None:
    """Return the provider's reason as a single bounded line without keys, or None for errors from elsewhere.

    Other errors may quote the conversation.
    """
    refusal = _find_provider_error(error)
    if refusal is None:
        return None
    text = " ".join(_list_words(refusal))
    # The cut may divide a key, which the patterns would then miss, so the last word is dropped.
    text = text if len(text) <= MAX_READ_CHARS else text[:MAX_READ_CHARS].rpartition(" ")[0]
    visible = "".join(each for each in " ".join(serde.sanitize_text(text).split()) if each.isprintable())
    for key in _collect_keys(error, refusal):
        visible = visible.replace(key, MASK)
    masked = _LABELLED_KEYS.sub(rf"\g<1>{MASK}", _KEYS.sub(MASK, visible))
    return shorten_line(masked, MAX_WORDS_CHARS) or None


def _find_provider_error(error: BaseException) -> BaseException | None:
    return next((link for link in iterate_causes(error) if read_status(link) or find_message(link)), None)


def _list_words(refusal: BaseException) -> Iterator[str]:
    """Yield the status and the body's message. Without a body, yield the error's text."""
    if status := read_status(refusal):
        yield f"HTTP {status}:"
    yield find_message(refusal) or str(refusal)
    if names := _list_names(refusal):
        yield f"({', '.join(names)})"


def _list_names(refusal: BaseException) -> list[str]:
    """Return code, type and parameter from the body if they are plain names. Other text may quote the conversation."""
    body = read_error_object(refusal)
    values = {name: body.get(name) for name in ("code", "type", "param")}
    return [
        f"{name}: {_KEYS.sub(MASK, value)}"
        for name, value in values.items()
        if isinstance(value, str) and _NAME.fullmatch(value)
    ]


def _collect_keys(error: BaseException, refusal: BaseException) -> list[str]:
    """Return the model's keys and the keys in the refused request's headers, the longest first."""
    attached = [key for link in iterate_causes(error) for key in getattr(link, _KEYS_ATTRIBUTE, ())]
    request = getattr(refusal, "request", None) or getattr(getattr(refusal, "response", None), "_request", None)
    headers = getattr(request, "headers", None) or {}
    keys = {str(headers.get(name) or "").split(" ")[-1] for name in _KEY_HEADERS}
    keys |= {key.get_secret_value().strip() for key in attached}
    return sorted((key for key in keys if len(key) >= _MIN_KEY_CHARS), key=len, reverse=True)
