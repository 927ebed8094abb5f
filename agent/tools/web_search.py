"""Web search with Tavily, only in this module.

Results are text from other authors: they are shortened, stripped of invisible characters and fenced before a model reads
them.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import SecretStr

# The package ships no types.
from tavily import AsyncTavilyClient, errors  # type: ignore[import-untyped]

from agent.fence import Fence, clean_line

MAX_SEARCH_SECONDS = 20.0
MAX_SEARCH_RESULTS = 5
# Tavily refuses longer queries.
MAX_QUERY_CHARS = 400
MAX_FIELD_CHARS = 1000
FENCE = Fence("search results")

Topic = Literal["general", "news", "finance"]
TimeRange = Literal["day", "week", "month", "year"]

_FAILURES: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    (
        (TimeoutError, errors.TimeoutError, httpx.TimeoutException),
        "Web search took too long. Try once more or answer without it.",
    ),
    (
        (errors.InvalidAPIKeyError,),
        "Web search refused its key (TAVILY_API_KEY). Answer without it and tell the user.",
    ),
    (
        (errors.UsageLimitExceededError, errors.ForbiddenError),
        "Web search has reached its limit. Answer without it and tell the user.",
    ),
    ((errors.BadRequestError,), "Web search did not accept this query. Try a shorter, plainer one."),
    ((httpx.HTTPStatusError,), "Web search failed on its side. Try once more or answer without it."),
    (
        (httpx.HTTPError, httpx.InvalidURL, OSError),
        "Web search cannot be reached (TAVILY_BASE_URL). Answer without it and tell the user.",
    ),
    # The client reads fields unchecked, and may even raise an object that is not an exception.
    (
        (ValueError, TypeError, AttributeError, KeyError),
        "Web search gave an unreadable answer. Try once more or answer without it.",
    ),
)


def make_web_search_tool(api_key: SecretStr, base_url: str | None) -> BaseTool:
    """Return the tool `web_search`. Its failures are ToolExceptions with a short text for the model, never the key."""

    async def web_search(query: str, topic: Topic = "general", time_range: TimeRange | None = None) -> str:
        """Search the web for current facts. Returns a short answer and a few results with title, address and an excerpt.

        time_range: only what was published in the last day, week, month or year.
        """
        words = clean_line(query, MAX_QUERY_CHARS + 1)
        if not words or len(words) > MAX_QUERY_CHARS:
            raise ToolException(f"The query must have between 1 and {MAX_QUERY_CHARS} characters.")
        try:
            options = {"topic": topic, "time_range": time_range}
            return _fence_search_results(await _query_tavily(words, options, api_key, base_url))
        except tuple(kind for kinds, _ in _FAILURES for kind in kinds) as error:
            # Drop the provider's text and the request, which holds the key.
            raise ToolException(_explain_failure(error)) from None

    def search_and_wait(query: str, topic: Topic = "general", time_range: TimeRange | None = None) -> str:
        # The caller's thread may run an event loop, so this uses another thread.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(web_search(query, topic, time_range))).result()

    return StructuredTool.from_function(
        search_and_wait, coroutine=web_search, name="web_search", description=web_search.__doc__
    )


async def _query_tavily(query: str, options: dict[str, Any], api_key: SecretStr, base_url: str | None) -> dict[str, Any]:
    key = api_key.get_secret_value()
    # Tavily's own timeout restarts with every byte, so slow bytes would hold the run without the outer timeout.
    # Making the client reads the trusted certificates, which takes 50 ms.
    make_client = partial(AsyncTavilyClient, api_key=key, api_base_url=base_url)
    async with asyncio.timeout(MAX_SEARCH_SECONDS), await asyncio.to_thread(make_client) as client:
        limits = {"max_results": MAX_SEARCH_RESULTS, "include_answer": True, "timeout": MAX_SEARCH_SECONDS}
        answer: dict[str, Any] = await client.search(query, **options, **limits)
    return answer


def _explain_failure(error: Exception) -> str:
    return next(text for kinds, text in _FAILURES if isinstance(error, kinds))


def _fence_search_results(answer: dict[str, Any]) -> str:
    results = answer["results"][:MAX_SEARCH_RESULTS]
    body = [_format_search_result(number, result) for number, result in enumerate(results, start=1)]
    short = _clean_field(answer.get("answer"))
    short_answer = [f"Tavily's own short answer: {short}"] if short else []
    return FENCE.wrap("\n\n".join([*short_answer, *(body or ["Nothing was found. Try other words."])]))


def _format_search_result(number: int, result: dict[str, Any]) -> str:
    url = _clean_field(result.get("url"))
    host = urlsplit(url).hostname or "unknown"
    title = _clean_field(result.get("title")) or "Untitled"
    return f"{number}. {title}\nhost: {host}\nurl: {url}\n{_clean_field(result.get('content'))}"


def _clean_field(text: object) -> str:
    """Return a field of the answer as a single clean line. Other values than text count as empty."""
    return clean_line(text, MAX_FIELD_CHARS) if isinstance(text, str) else ""
