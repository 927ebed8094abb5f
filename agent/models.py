"""Chat models: the only file that names providers, and what a person reads when one of them fails."""

import math
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from agent.demo import DemoChatModel

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI
    from openai import AsyncOpenAI, AsyncStream

DEFAULT_OPENAI_MODEL = "gpt-5.4-mini"  # the newest small one that takes tools through Chat Completions as it is
DEFAULT_AZURE_API_VERSION = "2024-10-21"
OPENAI_ADDRESS = "https://api.openai.com/v1"
NO_KEY = "no-key"  # compatible servers on one's own machine ask for none, but the client insists on a value
CONNECT_SECONDS = 5.0
RETRIES = 2

# With tools, OpenAI's Chat Completions refuse these models (400) unless reasoning is switched off by name.
_TOOLS_ONLY_WITHOUT_REASONING = ("gpt-5.6", "gpt-6-luna")


class ModelConfigurationError(ValueError):
    """The settings name no usable model; the text is one sentence that names the setting."""


@dataclass(frozen=True)
class Keys:
    """What the settings say about providers. `idle_seconds` is the longest silence in a stream that is waited out."""

    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    azure_openai_api_key: SecretStr | None = None
    azure_openai_endpoint: str | None = None
    azure_openai_api_version: str | None = None
    azure_openai_deployment_name: str | None = None
    azure_openai_reasoning_effort: str | None = None
    idle_seconds: float = 60.0


def default_spec(keys: Keys) -> str:
    """The model to use when none is named: what the keys allow, else the demo."""
    if _present(keys.openai_api_key):
        return f"openai:{DEFAULT_OPENAI_MODEL}"
    if _present(keys.azure_openai_api_key) and keys.azure_openai_endpoint:
        return f"azure:{keys.azure_openai_deployment_name or ''}"
    return "demo"


def load_chat_model(spec: str, keys: Keys, *, demo_seconds_per_token: float = 0.02) -> BaseChatModel:
    """The model that `openai:NAME`, `azure:DEPLOYMENT` or `demo` stands for. Raises ModelConfigurationError."""
    provider, _, name = spec.strip().partition(":")
    match provider:
        case "demo" if not name:
            return DemoChatModel(seconds_per_token=demo_seconds_per_token)
        case "openai" if name:
            return _openai(name, keys)
        case "azure":
            return _azure(name or keys.azure_openai_deployment_name, keys)
    raise ModelConfigurationError(f"MODEL must be openai:NAME, azure:DEPLOYMENT or demo, not {spec[:80]!r}.")


def _openai(name: str, keys: Keys) -> BaseChatModel:
    if not _present(keys.openai_api_key) and not keys.openai_base_url:
        raise ModelConfigurationError("OPENAI_API_KEY is missing; MODEL names a model of OpenAI.")
    from langchain_openai import ChatOpenAI  # noqa: PLC0415  costs half a second, which the demo need not pay

    switched_off = keys.openai_base_url is None and name.startswith(_TOOLS_ONLY_WITHOUT_REASONING)
    model = ChatOpenAI(
        model=name,
        api_key=keys.openai_api_key if _present(keys.openai_api_key) else SecretStr(NO_KEY),
        base_url=keys.openai_base_url or OPENAI_ADDRESS,  # never left open: the library would read the environment
        reasoning_effort="none" if switched_off else None,
        **_shared(keys),
    )
    return _quick(model)


def _azure(deployment: str | None, keys: Keys) -> BaseChatModel:
    if not deployment:
        raise ModelConfigurationError("AZURE_OPENAI_DEPLOYMENT_NAME is missing, or write MODEL=azure:DEPLOYMENT.")
    if not keys.azure_openai_endpoint:
        raise ModelConfigurationError("AZURE_OPENAI_ENDPOINT is missing; MODEL names a deployment on Azure.")
    if not _present(keys.azure_openai_api_key):
        raise ModelConfigurationError("AZURE_OPENAI_API_KEY is missing; MODEL names a deployment on Azure.")
    from langchain_openai import AzureChatOpenAI  # noqa: PLC0415  as above

    model = AzureChatOpenAI(
        azure_deployment=deployment,
        azure_endpoint=keys.azure_openai_endpoint,
        api_key=keys.azure_openai_api_key,
        api_version=keys.azure_openai_api_version or DEFAULT_AZURE_API_VERSION,
        reasoning_effort=keys.azure_openai_reasoning_effort or None,
        **_shared(keys),
    )
    return _quick(model)


def _quick(model: "BaseChatOpenAI") -> "BaseChatOpenAI":
    """The same model, whose streams come as the JSON that was sent.

    The client makes each token an object of six classes, which the library turns back into the JSON that it began as: half
    of the server's work for an answer.
    """
    model.async_client = _Completions(model.root_async_client)
    return model


class _Completions:
    """What the library asks of the client's chat completions."""

    def __init__(self, client: "AsyncOpenAI") -> None:
        self._client = client

    async def create(self, **payload: Any) -> "AsyncStream[object]":
        from openai import AsyncStream  # noqa: PLC0415  as above

        stream = AsyncStream[object]
        return await self._client.post("/chat/completions", body=payload, cast_to=object, stream=True, stream_cls=stream)


def _shared(keys: Keys) -> dict[str, Any]:
    """Streaming with usage, Chat Completions and short patience: by default a dead stream is held for ten minutes."""
    from openai import Timeout  # noqa: PLC0415  as above

    return {
        "streaming": True,
        "stream_usage": True,
        "use_responses_api": False,
        "max_retries": RETRIES,
        "timeout": Timeout(keys.idle_seconds, connect=CONNECT_SECONDS),
        "stream_chunk_timeout": keys.idle_seconds,  # the other one starts anew with every keep-alive comment
    }


def _present(key: SecretStr | None) -> bool:
    return key is not None and bool(key.get_secret_value().strip())


_BY_STATUS = {
    400: "The model provider did not accept the request; MODEL may not support tools or streaming.",
    401: "The model provider refused the API key; check it in the settings.",
    403: "The model provider does not allow this API key to use this model; check the key and MODEL.",
    404: "The model provider does not know this model; check MODEL and the provider's address.",
    408: "The model provider gave up waiting; try again.",
    409: "The model provider was busy with a conflicting request; try again.",
    413: "The request is too large for the model provider; shorten the conversation.",
    422: "The model provider did not accept the request; MODEL may not support tools or streaming.",
}
_STATUS_OF_CODE = {"invalid_api_key": 401, "model_not_found": 404, "rate_limit_exceeded": 429, "server_error": 500}
_TOO_LONG = "The conversation is longer than this model can read; go back to an earlier checkpoint or shorten it."
_FILTERED = "The model provider's content filter stopped this answer; rephrase the message."
_QUOTA = "The model provider's quota for this API key is used up; check the plan and its billing."
_SERVER = "The model provider has a problem on its side; try again in a moment."
_BY_KIND: tuple[tuple[set[str], str], ...] = (  # class names, the telling ones before the general ones
    ({"TimeoutError", "APITimeoutError", "TimeoutException"}, "The model did not answer in time; try again."),
    (
        {"SSLError"},
        "The secure connection to the model provider failed; check its address and certificate.",
    ),
    (
        {"gaierror"},
        "The model provider's address cannot be looked up; check it and the network.",
    ),
    (
        {"ConnectionResetError", "BrokenPipeError", "ReadError", "WriteError", "RemoteProtocolError"},
        "The connection to the model provider broke off; try again.",
    ),
    (
        {"ConnectionRefusedError", "ConnectError", "APIConnectionError"},
        "Nothing answers at the model provider's address; check it and whether the server runs.",
    ),
    (
        {"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"},
        "The model provider sent an answer that cannot be read; try again.",
    ),
)
_OTHER = "The model could not answer."


def model_error(error: BaseException) -> str:
    """One sentence for a person. It never holds the provider's own text, which may show a part of the key.

    Errors are told apart by status, code and class name, so the providers' libraries need not be loaded for it.
    """
    if isinstance(error, ModelConfigurationError):
        return str(error)
    chain = list(_chain(error))
    kinds = {kind.__name__ for link in chain for kind in type(link).__mro__}
    named = [getattr(link, attribute, None) for link in chain for attribute in ("code", "type")]
    codes = {code for code in named if isinstance(code, str)}
    return _by_content(error, kinds, codes) or _by_status(chain, codes) or _by_kind(kinds) or _OTHER


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from: a refused connection and a bad certificate differ only down there.

    A cancelled wait has no cause, but it came up while something was handled: a client that was told to wait for longer than
    our patience is a client that was refused, not one that got no answer.
    """
    yield error
    below = error.__context__ if isinstance(error, CancelledError) else error.__cause__
    if below is not None:
        yield from _chain(below)
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _chain(part)


def _by_content(error: BaseException, kinds: set[str], codes: set[str]) -> str | None:
    if "ContextOverflowError" in kinds or "context_length_exceeded" in codes or "context_length" in str(error):
        return _TOO_LONG
    if "ContentFilterFinishReasonError" in kinds or codes & {"content_filter", "content_policy_violation"}:
        return _FILTERED
    return _QUOTA if "insufficient_quota" in codes else None


def _by_status(chain: Sequence[BaseException], codes: set[str]) -> str | None:
    """By status, or by the code that stands for it when the error came in the middle of a stream."""
    told = next((link for link in chain if _status(link)), chain[0])
    status = _status(told) or next((_STATUS_OF_CODE[code] for code in codes if code in _STATUS_OF_CODE), 0)
    if status == 429:
        return f"The model provider is receiving too many requests; try again {_after(told)}."
    return _SERVER if status >= 500 else _BY_STATUS.get(status)


def _status(error: BaseException) -> int:
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else 0


def _after(error: BaseException) -> str:
    headers = getattr(getattr(error, "response", None), "headers", {})
    text = str(headers.get("retry-after", "")).strip()
    try:
        seconds = math.ceil(float(text))
    except (ValueError, OverflowError):
        return "in a moment"
    return f"in {max(seconds, 1)} s" if seconds <= 3600 else "later"


def _by_kind(kinds: set[str]) -> str | None:
    return next((text for names, text in _BY_KIND if kinds & names), None)
