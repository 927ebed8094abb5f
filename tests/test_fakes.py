"""The fakes are what they claim to be, as seen by the real clients."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletion

from tests.fakes.openai import Call, Calls, FakeOpenAI, Fault, Say
from tests.fakes.tavily import FakeTavily, Found, Result

pytestmark = pytest.mark.usefixtures("refusals_expected")
JSON = dict[str, Any]
KEY = "sk-proj-secret-key-1234"
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("calculator", "web_search")]


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def client(fake: FakeOpenAI) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=fake.base_url, api_key=KEY, max_retries=0, timeout=60) as real:
        yield real


@pytest.fixture
def tavily() -> Iterator[FakeTavily]:
    with FakeTavily() as server:
        yield server


def stream(client: openai.OpenAI, messages: Any = HELLO, **options: Any) -> Iterator[Any]:
    with client.chat.completions.create(model="m", messages=messages, stream=True, **options) as chunks:
        yield from chunks


def contents(chunks: Iterator[Any]) -> list[str]:
    return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]


def ask(client: openai.OpenAI, messages: Any = HELLO, **options: Any) -> ChatCompletion:
    answer: ChatCompletion = client.chat.completions.create(model="m", messages=messages, **options)
    return answer


def post(fake: FakeOpenAI, **body: Any) -> bytes:
    """The raw body of a streamed answer."""
    headers = {"authorization": f"Bearer {KEY}"}
    request = {"model": "m", "messages": HELLO, "stream": True} | body
    return httpx.post(f"{fake.base_url}/chat/completions", headers=headers, json=request).content


def search(fake: FakeTavily, query: str = "otters", key: str = "Bearer tvly-1") -> httpx.Response:
    return httpx.post(f"{fake.base_url}/search", headers={"authorization": key}, json={"query": query})


def called(*ids: str, arguments: str = "{}", name: str = "f") -> JSON:
    calls = [{"id": each, "type": "function", "function": {"name": name, "arguments": arguments}} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": "7"}


# Dialects


def test_every_dialect_refuses_what_its_service_refuses(fake: FakeOpenAI) -> None:
    short = [*HELLO, called("abcdefgh1"), result("abcdefgh1")]
    thinking = [*HELLO, {"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."}, *HELLO]
    cases: list[tuple[Any, str, JSON]] = [
        ("mistral", "length of 9", {"messages": [*HELLO, called("call_1"), result("call_1")]}),
        ("mistral", "Unexpected role 'user' after role 'tool'", {"messages": [*short, *HELLO]}),
        ("mistral", "Expected last role", {"messages": [*short, {"role": "assistant", "content": "7"}]}),
        ("mistral", "stream_options", {"stream_options": {"include_usage": True}}),
        ("mistral", "max_completion_tokens", {"max_completion_tokens": 9}),
        ("mistral", "reasoning_content", {"messages": thinking}),
        ("groq", "'name'", {"messages": [{**HELLO[0], "name": "me"}]}),
        ("groq", "reasoning_content", {"messages": thinking}),
        ("groq", "store", {"store": False}),
        ("openai", "reasoning_content", {"messages": thinking}),
        ("gemini", "thought_signature", {"messages": short}),
        ("deepseek", "must be passed back", {"messages": short}),
        ("llama.cpp", "prefill", {"messages": [*HELLO, {"role": "assistant", "content": "H"}]}),
    ]
    for manner, words, request in cases:
        fake.manner = manner
        assert words in post(fake, **request).decode(), (manner, words)
    for manner in ("together", "ollama", "vllm"):
        fake.manner = manner
        assert b"[DONE]" in post(fake, messages=thinking, unknown=True)


# Answers


def test_a_stream_is_one_chunk_per_word_and_whole(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Say("Grüße aus  Köln\n\n- eins"))
    chunks = list(stream(client, stream_options={"include_usage": True}))
    assert contents(iter(chunks)) == ["Grüße ", "aus  ", "Köln\n\n", "- ", "eins"]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]] == [None] * 6 + ["stop"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 5


def test_usage_comes_only_when_asked_for_and_done_is_last(fake: FakeOpenAI) -> None:
    body = post(fake)
    assert b"usage" not in body
    assert body.endswith(b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')


def test_tool_calls_come_in_fragments_and_assemble(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Calls((Call("add", {"a": 1, "b": "ü"}, id="call_1"), Call("stop", {})), text="Wait."))
    parts = [part for chunk in stream(client) for part in chunk.choices[0].delta.tool_calls or ()]
    assert [(part.index, part.function.name) for part in parts if part.id] == [(0, "add"), (1, "stop")]
    assert parts[0].id == "call_1"
    assert parts[0].function.arguments == ""
    assert len(parts) > 4
    joined = "".join(part.function.arguments for part in parts if part.index == 0)
    assert json.loads(joined) == {"a": 1, "b": "ü"}


def test_an_answer_in_one_piece_has_the_same_content(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Say("Hello there", finish="length"), Call("add", '{"a": ', text="Now."))
    said, call = ask(client).choices[0], ask(client).choices[0]
    assert (said.message.content, said.finish_reason) == ("Hello there", "length")
    assert (call.message.content, call.finish_reason) == ("Now.", "tool_calls")
    assert call.message.tool_calls
    assert call.message.tool_calls[0].to_dict()["function"] == {"name": "add", "arguments": '{"a": '}


def test_call_ids_differ_from_request_to_request(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Calls((Call("a", {}), Call("b", {}))), Call("a", {}))
    calls = [call.id for _ in range(2) for call in ask(client).choices[0].message.tool_calls or ()]
    assert len(set(calls)) == 3


def test_azure_answers_under_its_own_path(fake: FakeOpenAI) -> None:
    with openai.AzureOpenAI(
        azure_endpoint=fake.azure_endpoint, api_key=KEY, api_version="2024-10-21", azure_deployment="d"
    ) as azure:
        chunks = list(stream(azure))
    assert chunks[0].choices == []  # what Azure's content filter says about the prompt comes first
    assert "".join(contents(iter(chunks))).startswith("You said: Hello")
    assert fake.violations == []


def test_script_forgets_what_was_queued(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Say("old"))
    fake.script(Say("new"))
    assert "".join(contents(stream(client))) == "new"
    assert "".join(contents(stream(client))).startswith("You said: Hello")


def test_a_question_is_answered_with_a_fitting_tool_and_then_its_result(client: openai.OpenAI) -> None:
    messages: list[Any] = [{"role": "user", "content": "[msg_0] So, what is 12 * (3 + 4)?"}]
    answer = ask(client, messages, tools=TOOLS).choices[0].message
    assert answer.tool_calls
    assert json.loads(answer.tool_calls[0].to_dict()["function"]["arguments"]) == {"expression": "12 * (3 + 4)"}  # type: ignore[index]
    messages += [answer.to_dict(), {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": "84"}]
    final = ask(client, messages, tools=TOOLS).choices[0].message.content
    assert final == "For “So, what is 12 * (3 + 4)?” the tools say: 84"


def test_a_search_is_made_only_when_the_tool_is_offered(client: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": "please search for sea otters."}]
    with_tool = ask(client, messages, tools=TOOLS).choices[0].message.tool_calls
    assert with_tool
    assert with_tool[0].to_dict()["function"] == {"name": "web_search", "arguments": '{"query": "sea otters"}'}
    assert ask(client, messages).choices[0].message.tool_calls is None


# Rules

BROKEN: dict[str, tuple[list[Any], str]] = {
    "no message": ([], "non-empty"),
    "unknown role": ([{"role": "robot", "content": "x"}], "robot"),
    "no content": ([{"role": "user", "content": None}], "content"),
    "call without result": ([*HELLO, called("a")], "a"),
    "one of two results missing": ([*HELLO, called("a", "b"), result("a"), *HELLO], "b"),
    "user message before the result": ([*HELLO, called("a"), *HELLO, result("a")], "a"),
    "result without a call": ([*HELLO, result("a")], "preceeding"),
    "result twice": ([*HELLO, called("a"), result("a"), result("a")], "already answered"),
    "result of another call": ([*HELLO, called("a"), result("b")], "unknown"),
    "duplicate id in one answer": ([*HELLO, called("a", "a"), result("a")], "Duplicate"),
    "duplicate id later": ([*HELLO, called("a"), result("a"), called("a"), result("a")], "Duplicate"),
    "cut arguments": ([*HELLO, called("a", arguments='{"n": 1'), result("a")], "JSON"),
    "arguments as an object": ([*HELLO, called("a", arguments={}), result("a")], "JSON"),  # type: ignore[arg-type]
    "call by the user": ([called("a") | {"role": "user"}, result("a")], "assistant"),
    "call of no possible tool": ([*HELLO, called("a", name="multi_tool_use.parallel"), result("a")], "pattern"),
    "call of a tool without a name": ([*HELLO, called("a", name=""), result("a")], "pattern"),
    "id too long": ([*HELLO, called("a" * 41), result("a" * 41)], "40 characters"),
    "content without parts": ([{"role": "user", "content": []}], "content"),
    "image in an answer": ([{"role": "assistant", "content": [{"type": "image_url"}]}], "image_url"),
    "result without content": ([*HELLO, called("a"), result("a") | {"content": None}], "content"),
    "name with spaces": ([HELLO[0] | {"name": "Ann Lee"}], "Ann Lee"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_list_of_messages_is_refused(fake: FakeOpenAI, client: openai.OpenAI, case: str) -> None:
    messages, told = BROKEN[case]
    fake.reply(Say("not used up by a refused request"))
    with pytest.raises(openai.BadRequestError, match=told):
        ask(client, messages)
    assert len(fake.violations) == 1
    assert ask(client).choices[0].message.content == "not used up by a refused request"


@pytest.mark.parametrize(("names", "told"), [([], "array"), (["f", "f"], "Duplicate"), (["a b"], "pattern")])
def test_a_broken_list_of_tools_is_refused(client: openai.OpenAI, names: list[str], told: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    with pytest.raises(openai.BadRequestError, match=told):
        ask(client, tools=tools)


def test_results_may_come_in_any_order(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    ask(client, [*HELLO, called("a", "b"), result("b"), result("a"), *HELLO])
    assert fake.violations == []
    assert len(fake.requests[0]["messages"]) == 5


def test_a_request_needs_a_key_and_a_model(fake: FakeOpenAI) -> None:
    url, body = f"{fake.base_url}/chat/completions", {"model": "m", "messages": HELLO}
    assert httpx.post(url, json=body).status_code == 401
    assert httpx.post(url, json=body | {"model": ""}, headers={"authorization": "Bearer x"}).status_code == 400
    assert httpx.post(url, content=b"{", headers={"authorization": "Bearer x"}).status_code == 400
    assert len(fake.violations) == 3


# Faults

STATUSES = {
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    408: openai.APIStatusError,
    409: openai.ConflictError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    503: openai.InternalServerError,
}


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_becomes_the_clients_own_error(fake: FakeOpenAI, client: openai.OpenAI, status: int) -> None:
    fake.reply(Fault("status", status=status, retry_after="3" if status == 429 else None))
    with pytest.raises(STATUSES[status]) as caught:
        list(stream(client))
    assert caught.value.status_code == status
    assert caught.value.response.headers.get("retry-after") == ("3" if status == 429 else None)
    assert (KEY[-4:] in str(caught.value)) == (status == 401)
    assert fake.violations == []


def test_a_status_can_carry_its_own_code(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("status", status=400, code="context_length_exceeded", message="Too long."))
    with pytest.raises(openai.BadRequestError, match=r"Too long\.") as caught:
        ask(client)
    assert caught.value.code == "context_length_exceeded"


def test_a_reset_before_the_first_byte_is_a_connection_error(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("reset"))
    with pytest.raises(openai.APIConnectionError) as caught:
        list(stream(client))
    assert "Connection reset" in str(caught.value.__cause__)
    assert fake.first_byte_times == []


@pytest.mark.parametrize(("kind", "error"), [("cut", "peer closed connection"), ("reset", "reset")])
def test_a_broken_connection_is_noticed_in_mid_stream(
    fake: FakeOpenAI, client: openai.OpenAI, kind: Any, error: str
) -> None:
    fake.reply(Fault(kind, Say("one two three"), after_tokens=2))
    chunks = stream(client)
    received = [next(chunks).choices[0].delta.content for _ in range(3)]
    assert received == ["", "one ", "two "]
    with pytest.raises(openai.APIConnectionError) as caught:
        next(chunks)
    assert error in f"{caught.value} {caught.value.__cause__}".lower()


def test_an_early_end_raises_nothing(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("end", Say("Hello brave world"), after_tokens=2))
    chunks = list(stream(client))
    assert contents(iter(chunks)) == ["Hello ", "brave "]
    assert {chunk.choices[0].finish_reason for chunk in chunks} == {None}


def test_arguments_can_end_at_any_fragment(fake: FakeOpenAI) -> None:
    call = Call("rewind", {"steps": 15}, tokens=('{"steps": 1', "5}"))
    fake.reply(Fault("end", call, after_tokens=1))
    body = post(fake)
    assert body.endswith(b'{\\"steps\\": 1"}}]},"logprobs":null,"finish_reason":null}]}\n\n')


@pytest.mark.parametrize(
    ("place", "tail"),
    [
        ({"after_bytes": 3}, b"dat"),
        ({"after_bytes": 0}, b""),
        ({"within": "ö"}, b'{"content":"K\xc3'),
        ({"before": "data: [DONE]"}, b'"finish_reason":"stop"}]}\n\n'),
        ({"within": "data: [DONE]"}, b"\n\ndata: "),
    ],
)
def test_a_stream_can_be_cut_at_any_byte(fake: FakeOpenAI, place: JSON, tail: bytes) -> None:
    fake.reply(Fault("end", Say("aus Köln"), **place))
    body = post(fake)
    assert body.endswith(tail)
    assert (len(body) < 10) == ("after_bytes" in place)


def test_a_place_beyond_the_answer_is_a_violation(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("cut", Say("one"), after_tokens=2))
    with pytest.raises(openai.BadRequestError, match="only 1 tokens"):
        list(stream(client))
    assert "only 1 tokens" in fake.violations[0]


@pytest.mark.parametrize(("after_tokens", "received"), [(None, []), (0, [""]), (1, ["", "one "])])
def test_a_hang_lasts_until_the_client_leaves(fake: FakeOpenAI, after_tokens: int | None, received: list[str]) -> None:
    fake.reply(Fault("hang", Say("one two"), after_tokens=after_tokens))
    seen: list[str] = []
    with openai.OpenAI(base_url=fake.base_url, api_key=KEY, max_retries=0, timeout=1.0) as client:
        with pytest.raises(openai.APITimeoutError):
            seen.extend(chunk.choices[0].delta.content for chunk in stream(client))
        # The client may drop what it had when the timeout comes, but it never has more.
        assert seen == received
    fake.wait_for(lambda: fake.disconnects == 1)


def test_a_slow_drip_is_whole(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("drip", Say("aus Köln"), seconds=0.001))
    assert contents(stream(client)) == ["aus ", "Köln"]
    assert fake.last_byte_times[0] - fake.first_byte_times[0] > 0.05


@pytest.mark.parametrize(
    ("kind", "error"),
    [("malformed", json.JSONDecodeError), ("garbage", UnicodeDecodeError), ("error_event", openai.APIError)],
)
def test_a_spoiled_stream_fails_where_it_is_spoiled(
    fake: FakeOpenAI, client: openai.OpenAI, kind: Any, error: type[Exception]
) -> None:
    fake.reply(Fault(kind, Say("one two"), after_tokens=1))
    chunks = stream(client)
    assert [next(chunks).choices[0].delta.content for _ in range(2)] == ["", "one "]
    with pytest.raises(error):
        next(chunks)


def test_choices_can_be_empty(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("empty_choices"), Fault("empty_choices"))
    assert [chunk.choices for chunk in stream(client)] == [[]]
    assert ask(client).choices == []


def test_after_a_fault_the_next_request_is_served(fake: FakeOpenAI) -> None:
    fake.reply(Fault("status", status=500), Fault("reset"), Say("third time"))
    with openai.OpenAI(base_url=fake.base_url, api_key=KEY, max_retries=2) as client:
        assert ask(client).choices[0].message.content == "third time"
    assert len(fake.requests) == 3


# Time


def test_the_gate_stops_a_stream_after_k_tokens_until_it_is_released(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.hold(after_tokens=2)
    fake.reply(Say("one two three four"))
    chunks = stream(client)
    assert [next(chunks).choices[0].delta.content for _ in range(3)] == ["", "one ", "two "]
    assert fake.held.wait(60)
    assert fake.last_byte_times == []
    fake.release()
    assert contents(chunks) == ["three ", "four"]
    assert not fake.held.is_set()


def test_a_gate_moved_forward_lets_the_stream_go_that_far(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.hold(after_tokens=0)
    fake.reply(Say("one two three"))
    chunks = stream(client)
    assert next(chunks).choices[0].delta.content == ""
    fake.hold(after_tokens=1)
    assert next(chunks).choices[0].delta.content == "one "
    assert fake.held.wait(60)
    fake.release()
    assert contents(chunks) == ["two ", "three"]


def test_leaving_at_the_gate_is_seen_as_a_disconnect(fake: FakeOpenAI) -> None:
    async def leave() -> None:
        async with openai.AsyncOpenAI(base_url=fake.base_url, api_key=KEY) as client:
            chunks: Any = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
            await anext(aiter(chunks))
            await chunks.close()

    fake.hold(after_tokens=1)
    asyncio.run(leave())
    fake.wait_for(lambda: fake.disconnects == 1)


def test_delays_are_kept_and_times_recorded(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.first_byte_delay, fake.token_delay = 0.05, 0.02
    fake.reply(Say("one two three"))
    asked = time.perf_counter()
    list(stream(client))
    assert fake.first_byte_times[0] - asked >= 0.05
    assert fake.last_byte_times[0] - fake.first_byte_times[0] >= 0.06


def test_without_delays_a_long_answer_is_whole(fake: FakeOpenAI) -> None:
    fake.reply(Say("word " * 2000))
    assert post(fake).count(b"word ") == 2000


def test_many_streams_run_at_once(fake: FakeOpenAI) -> None:
    async def ask_ten_times() -> list[str]:
        async with openai.AsyncOpenAI(base_url=fake.base_url, api_key=KEY) as client:

            async def answer(number: int) -> str:
                messages: Any = [{"role": "user", "content": f"number {number}"}]
                chunks: Any = await client.chat.completions.create(model="m", messages=messages, stream=True)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

            return await asyncio.gather(*(answer(number) for number in range(10)))

    answers = asyncio.run(ask_ten_times())
    assert all(answer.startswith(f"You said: number {number}\n") for number, answer in enumerate(answers))


def test_stopping_ends_a_request_that_hangs(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    fake.reply(Fault("hang", Say("one two"), after_tokens=1))
    chunks = stream(client)
    next(chunks)
    fake.stop()
    with pytest.raises(openai.APIConnectionError):
        list(chunks)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(fake.origin.rpartition(":")[2])))
    assert fake.disconnects == 0


def test_a_stopped_fake_can_come_back_on_its_port(fake: FakeOpenAI, client: openai.OpenAI) -> None:
    ask(client)
    fake.stop()
    with pytest.raises(openai.APIConnectionError):
        ask(client)
    with FakeOpenAI(port=int(fake.origin.rpartition(":")[2])):
        assert ask(client).choices


# Search


def test_a_search_answers_like_tavily(tavily: FakeTavily) -> None:
    tavily.reply(Found((Result("Otters", "https://example.com/o", "They swim.", 0.5),), answer="Yes."))
    found = search(tavily).json()
    assert found["answer"] == "Yes."
    assert found["results"][0] | {"raw_content": None} == {
        "title": "Otters", "url": "https://example.com/o", "content": "They swim.", "score": 0.5, "raw_content": None
    }  # fmt: skip
    assert "otters" in search(tavily).json()["results"][1]["content"]
    assert [request["query"] for request in tavily.requests] == ["otters", "otters"]


def test_a_search_needs_a_key_and_a_query(tavily: FakeTavily) -> None:
    assert search(tavily, key="").status_code == 401
    assert search(tavily, query=" ").status_code == 400
    assert len(tavily.violations) == 2


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_search_can_be_refused(tavily: FakeTavily, status: int) -> None:
    tavily.reply(Fault("status", status=status))
    answer = search(tavily)
    assert answer.status_code == status
    assert answer.json()["detail"]["error"]
    assert tavily.violations == []


def test_a_search_can_hang_or_answer_with_garbage(tavily: FakeTavily) -> None:
    tavily.reply(Fault("garbage", after_bytes=1), Fault("hang"))
    with pytest.raises(UnicodeDecodeError):
        search(tavily).json()
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{tavily.base_url}/search", headers={"authorization": "Bearer x"}, json={"query": "x"}, timeout=0.1)
