"""Explains model errors in sentences for people."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agent.models.refusal_body import read_words
from checkpoints.values.sentence import sentence


class ModelConfigurationError(ValueError):
    """The settings name no usable model. The text is a sentence that names the setting."""


_REDIRECT = sentence(
    "The model provider's address redirects to another one, and Waymark sends nothing there; set the final address."
)
_NOT_ACCEPTED = sentence("The model provider did not accept the request.")
# The attribute of an error for the fields that parameters set in its request.
_FIELDS_ATTRIBUTE = "_waymark_fields"
_BY_STATUS = {
    400: _NOT_ACCEPTED,
    401: sentence("The model provider refused the API key; enter it under “Connect a model”, or correct it in .env."),
    403: sentence("The model provider does not allow this API key to use this model; check the key and MODEL."),
    404: sentence("The model provider does not know this model; check MODEL and the provider's address."),
    405: sentence(
        "The model provider's address takes no requests for answers; "
        "set it under “Connect a model”, or in .env, such as OPENAI_BASE_URL."
    ),
    408: sentence("The model provider gave up waiting; try again."),
    409: sentence("The model provider was busy with a conflicting request; try again."),
    413: sentence("The request is too large for the model provider; shorten the conversation."),
    422: _NOT_ACCEPTED,
}
_STATUS_OF_CODE = {"invalid_api_key": 401, "model_not_found": 404, "rate_limit_exceeded": 429, "server_error": 500}
_CODES = {*_STATUS_OF_CODE, "context_length_exceeded", "content_filter", "insufficient_quota"}
_TOO_LONG = sentence("The conversation is longer than this model can read; go back to an earlier checkpoint or shorten it.")
_NO_FILES = sentence("This model does not take images or files. Choose another model, or go on: it will not see them.")
# The words of OpenAI, Azure, OpenRouter, Ollama, vLLM and llama.cpp.
_FILES_REFUSED = re.compile(
    r"image_url|image input|(?:not|n't) support\w* (?:image|vision|file)|multimodal|file_data|input_file|input_image",
    re.IGNORECASE,
)
_NO_TOOLS = sentence("This model does not take tools. Choose another model.")
# The words of Pydantic 2 and 1, so of servers with FastAPI.
_EXTRA = r"extra (?:inputs are|fields) not permitted"
# The end of a field's place in the request.
_TOOLS_FIELD = r"""\b(?:tools|tool_choice|functions)['"],?\s?[\])]"""
# The words of Ollama, OpenAI, Azure, Groq, DeepSeek, OpenRouter, vLLM and llama.cpp.
_TOOLS_REFUSED = re.compile(
    r"(?:not|n't) support\w* (?!(?:\w+ ){0,2}?(?:parallel|multiple|strict|this|type)\b)(?:\w+ ){0,2}"
    r"(?:tools?|functions?)(?:[ _-](?:use|using|usage|calls?|calling))?(?![\w-]| (?:type|schema|choice))"
    r"|\b(?:tools?|functions?|tool (?:use|calling|choice)|(?:tool|function)[ _]call(?:ing|s)?)\W+(?:is|are) not "
    r"(?:supported|available|enabled)"
    r"|unsupported parameter: \W*tools\b|support tool use|enable-auto-tool-choice|tools param requires"
    rf"|{_TOOLS_FIELD},\W{{1,3}}msg\W{{2,5}}{_EXTRA}|{_EXTRA}\W{{2,5}}loc\W{{2,6}}(?:body\W{{2,6}})?{_TOOLS_FIELD}"
    rf"|(?<![\w.])(?:tools|tool_choice|functions)\W{{1,3}}{_EXTRA}",
    re.IGNORECASE,
)
_MAX_NAMED_WAIT_SECONDS = 3600
_STATUS = re.compile(r"[3-5]\d\d")
_FILTERED = sentence("The model provider's content filter stopped this answer; rephrase the message.")
_RESPONSES = sentence(
    "With tools, this model works through Responses only; name it openai-responses:NAME or azure-responses:NAME."
)
_QUOTA = sentence("The model provider's quota for this API key is used up; check the plan and its billing.")
_SERVER = sentence("The model provider has a problem on its side; try again in a moment.")
# Sets of class names with their sentences, the specific classes first.
_KINDS = tuple[tuple[set[str], str], ...]
_FINAL_BY_KIND: _KINDS = (
    ({"TimeoutError", "APITimeoutError", "TimeoutException"}, sentence("The model did not answer in time; try again.")),
    (
        {"SSLError"},
        sentence("The secure connection to the model provider failed; check its address and certificate."),
    ),
    (
        {"gaierror"},
        sentence("The model provider's address cannot be looked up; check it and the network."),
    ),
    (
        {"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError", "DecodingError", "UnreadableBodyError"},
        sentence("The model provider sent an answer that cannot be read; try again."),
    ),
)
_RETRYABLE_BY_KIND: _KINDS = (
    (
        {"ConnectionResetError", "BrokenPipeError", "ReadError", "WriteError", "RemoteProtocolError"},
        sentence("The connection to the model provider broke off; try again."),
    ),
    (
        {"ConnectionRefusedError", "ConnectError", "APIConnectionError"},
        sentence("Nothing answers at the model provider's address; check it and whether the server runs."),
    ),
)
_OTHER = sentence("The model could not answer.")
# These, and all statuses from 500 on: the same request may succeed a little later.
_RETRYABLE_STATUSES = {408, 409, 429}
_RETRYABLE_KINDS = set().union(*(names for names, _ in _RETRYABLE_BY_KIND))
_FINAL_KINDS = set().union(*(names for names, _ in _FINAL_BY_KIND))


def describe_model_error(error: BaseException) -> str:
    """Return a sentence for a person. It never holds the provider's own text (see `provider_words`).

    Status, code and class name identify an error, so the providers' libraries need not be loaded.
    """
    if isinstance(error, ModelConfigurationError):
        return str(error)
    chain, kinds, codes = _inspect_error(error)
    return _explain_content(error, kinds, codes) or _explain_status(chain, codes) or _explain_kind(kinds) or _OTHER


def attach_parameter_fields(error: BaseException, fields: Collection[str], chosen_fields: Collection[str]) -> None:
    """Attach the request fields that a model's parameters set to the resulting error.

    `chosen_fields` come from the conversation. They are the likely cause if the provider's words name no field.
    """
    words = read_words(error)
    mentioned = [name for name in fields if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", words)]
    setattr(error, _FIELDS_ATTRIBUTE, tuple(mentioned or chosen_fields))


def refuses_files(error: BaseException) -> bool:
    """Return whether a model refused the attached files, rather than the rest of the request."""
    return describe_model_error(error) == _NO_FILES


def refuses_tools(error: BaseException) -> bool:
    """Return whether a model takes no tools at all, and may answer the same request without them."""
    chain, kinds, codes = _inspect_error(error)
    return _find_refusal(chain, codes)[1] != 0 and _explain_content(error, kinds, codes) == _NO_TOOLS


def retry_after(error: BaseException) -> float | None:
    """Return the seconds until a retry may succeed: 0 if the provider names none, None if a retry cannot help.

    Retry only a request without any answer so far. Never retry after a silence, since a second silence doubles the
    user's wait.
    """
    chain, kinds, codes = _inspect_error(error)
    if _explain_content(error, kinds, codes) is not None:
        return None
    refusal, status = _find_refusal(chain, codes)
    if status:
        headers = getattr(getattr(refusal, "response", None), "headers", {})
        is_final = headers.get("x-should-retry") == "false"
        return _read_retry_seconds(headers) if not is_final and (status in _RETRYABLE_STATUSES or status >= 500) else None
    return 0.0 if kinds & _RETRYABLE_KINDS and not kinds & _FINAL_KINDS else None


def _inspect_error(error: BaseException) -> tuple[list[BaseException], set[str], set[str]]:
    """Return the error with its causes, the names of their classes, and their codes."""
    chain = list(iterate_causes(error))
    kinds = {kind.__name__ for link in chain for kind in type(link).__mro__}
    named = [getattr(link, attribute, None) for link in chain for attribute in ("code", "type")]
    codes = {code for code in named if isinstance(code, str)}
    # A Responses stream failed: the library writes the code into a text.
    if type(error) is ValueError:
        codes |= {code for code in _CODES if code in str(error)}
    return chain, kinds, codes


def iterate_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes. A refused connection and a bad certificate differ only in their causes.

    The context counts as the cause of an error without a named cause: the HTTP library names none for a bad certificate,
    nor does a cancelled wait. A client that must wait beyond the limit was refused, which differs from a missing answer.

    Each error appears once, because an error raised from its own group is a cause of itself.
    """
    seen: set[int] = set()
    ahead = [error]
    while ahead:
        link = ahead.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            ahead += reversed(link.exceptions)
        below = link.__cause__ if link.__cause__ is not None else link.__context__
        if below is not None:
            ahead.append(below)


def _explain_content(error: BaseException, kinds: set[str], codes: set[str]) -> str | None:
    words = read_words(error)
    if "ContextOverflowError" in kinds or "context_length_exceeded" in codes or "context_length" in words:
        return _TOO_LONG
    if "ContentFilterFinishReasonError" in kinds or codes & {"content_filter", "content_policy_violation"}:
        return _FILTERED
    if "/v1/responses" in words:
        return _RESPONSES
    if _FILES_REFUSED.search(words):
        return _NO_FILES
    if _TOOLS_REFUSED.search(words):
        return _NO_TOOLS
    return _QUOTA if "insufficient_quota" in codes else None


def _explain_status(chain: Sequence[BaseException], codes: set[str]) -> str | None:
    """Return the sentence for a status, or for a code if the error came in the middle of a stream."""
    refusal, status = _find_refusal(chain, codes)
    if status == 429:
        return _describe_rate_limit(refusal)
    if status >= 500:
        return _SERVER
    if 0 < status < 400:
        return _REDIRECT
    explained = _BY_STATUS.get(status)
    fields = next((found for link in chain if (found := getattr(link, _FIELDS_ATTRIBUTE, ()))), ())
    if explained == _NOT_ACCEPTED and fields:
        return sentence(
            "The model provider did not accept the request. The model's parameters set these fields of it: {fields}.",
            fields=", ".join(fields),
        )
    return explained


def _find_refusal(chain: Sequence[BaseException], codes: set[str]) -> tuple[BaseException, int]:
    """Return the first error with a status and the status, or 0 without a status."""
    refusal = next((link for link in chain if read_status(link)), chain[0])
    return refusal, read_status(refusal) or next((_STATUS_OF_CODE[code] for code in codes if code in _STATUS_OF_CODE), 0)


def read_status(error: BaseException) -> int:
    """Return the HTTP status of a refusal, or 0 for other errors."""
    response = getattr(error, "response", None)
    # AWS has the status here.
    metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
    places = (
        # The last place is Google's. Errors within a stream have a text there, and other errors a name.
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None,
        getattr(error, "code", None),
    )
    numbers = (int(place) if isinstance(place, str) and _STATUS.fullmatch(place) else place for place in places)
    return next((number for number in numbers if isinstance(number, int) and 300 <= number < 600), 0)


def _describe_rate_limit(error: BaseException) -> str:
    headers = getattr(getattr(error, "response", None), "headers", {})
    text = str(headers.get("retry-after", "")).strip()
    try:
        seconds = math.ceil(float(text))
    except (ValueError, OverflowError):
        return sentence("The model provider is receiving too many requests; try again in a moment.")
    if seconds > _MAX_NAMED_WAIT_SECONDS:
        return sentence("The model provider is receiving too many requests; try again later.")
    return sentence("The model provider is receiving too many requests; try again in {seconds} s.", seconds=max(seconds, 1))


def _read_retry_seconds(headers: Mapping[str, str]) -> float:
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    # The header is missing, or holds a date.
    except ValueError:
        return 0.0


def _explain_kind(kinds: set[str]) -> str | None:
    return next((text for names, text in (*_FINAL_BY_KIND, *_RETRYABLE_BY_KIND) if kinds & names), None)
