"""The dialects of Chat Completions: how each server writes an answer, and the requests that it refuses.

Sources: the services' API references and SDKs, and for their behaviour on the wire the reports named beside a field.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from tests.fakes.server import JSON, Refusal

Manner = Literal["openai", "deepseek", "gemini", "mistral", "groq", "together", "ollama", "vllm", "llama.cpp"]
Rule = Callable[[list[JSON]], None]
MESSAGE = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "function_call", "annotations"}
CALL = {"id", "type", "function"}
COMMON = {"model", "messages", "tools", "tool_choice", "stream", "temperature", "top_p", "max_tokens", "stop", "n",
    "parallel_tool_calls", "reasoning_effort", "response_format", "presence_penalty", "frequency_penalty"}  # fmt: skip
GEMINI_BODY = {*COMMON, "stream_options", "max_completion_tokens", "extra_body", "seed", "user"}
GROQ_BODY = {*GEMINI_BODY, "reasoning_format", "include_reasoning", "service_tier"} - {"extra_body"}
MISTRAL_BODY = {*COMMON, "random_seed", "metadata", "prediction", "prompt_mode", "guardrails", "prompt_cache_key",
    "service_tier", "safe_prompt"}  # fmt: skip
MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


@dataclass(frozen=True)
class Dialect:
    """One server's Chat Completions. The defaults are OpenAI's, which does not show its reasoning there.

    `thought`: the field that shows it, or a list of parts in the content. `usage`: in a chunk of its own if it was asked
    for, in the last chunk, or in every chunk. `index`: of the calls in one answer. `call_id`: a format with `seed`, 20
    characters, and `index`.
    """

    thought: Literal["", "reasoning_content", "reasoning", "parts"] = ""
    finish: Mapping[str, str] = field(default_factory=dict)
    usage: Literal["asked", "last", "every"] = "asked"
    sends_whole_calls: bool = False
    index: Literal["counted", "missing", "zero"] = "counted"
    call_id: str = "call_{seed}{index:04d}"
    signs: bool = False  # the first call of each answer
    body_fields: Collection[str] | None = None  # None: it ignores those that it does not know
    message_fields: Collection[str] | None = frozenset(MESSAGE)
    call_fields: Collection[str] | None = frozenset(CALL)
    rules: tuple[Rule, ...] = ()

    def check_request(self, body: JSON) -> None:
        """Raises Refusal for a field that the server does not know, and for messages that break its rules."""
        check_known(body, self.body_fields, "")
        for index, message in enumerate(body["messages"]):
            check_known(message, self.message_fields, f"messages[{index}].")
            for call in message.get("tool_calls") or []:
                check_known(call, self.call_fields, f"messages[{index}].tool_calls.")
        for rule in self.rules:
            rule(body["messages"])


def check_known(found: JSON, known: Collection[str] | None, place: str) -> None:
    if known is not None and (strange := sorted(set(found) - set(known))):
        raise Refusal(f"Unrecognized request argument supplied: {place}{strange[0]}")


def check_passed_back(messages: list[JSON]) -> None:
    """DeepSeek (guides/thinking_mode): each answer of a turn that calls tools has its `reasoning_content`."""
    calling = False
    for message in messages:
        calling = message["role"] != "user" and (calling or bool(message.get("tool_calls")))
        if calling and message["role"] == "assistant" and not message.get("reasoning_content"):
            raise Refusal("The `reasoning_content` in the thinking mode must be passed back to the API.")


def check_call_ids(messages: list[JSON]) -> None:
    """Mistral: its ids have nine characters, letters and digits."""
    for message in messages:
        named = [call["id"] for call in message.get("tool_calls") or []] + [message.get("tool_call_id", "a" * 9)]
        if wrong := [each for each in named if not MISTRAL_ID.fullmatch(each)]:
            raise Refusal(f"Tool call id was {wrong[0]} but must be a-z, A-Z, 0-9, with a length of 9.")


def check_order(messages: list[JSON]) -> None:
    """Mistral (code 3230): an answer follows the results, and the last message is the user's or a result."""
    for before, message in pairwise(messages):
        if (before["role"], message["role"]) in (("tool", "user"), ("tool", "system"), ("user", "tool")):
            raise Refusal(f"Unexpected role '{message['role']}' after role '{before['role']}'")
    if messages[-1]["role"] not in ("user", "tool"):
        raise Refusal("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")


def check_no_prefill(messages: list[JSON]) -> None:
    """llama.cpp: with thinking, the last message is no answer."""
    if messages[-1]["role"] == "assistant":
        raise Refusal("Assistant response prefill is incompatible with enable_thinking.")


def check_no_names(messages: list[JSON]) -> None:
    """Groq (docs/openai): `messages[].name` is refused."""
    if any("name" in message for message in messages):
        raise Refusal("property 'name' is unsupported")


DIALECTS: Mapping[Manner, Dialect] = {
    "openai": Dialect(),
    "deepseek": Dialect(
        thought="reasoning_content",
        usage="last",
        call_id="call_{index:02d}_{seed}",
        message_fields={*MESSAGE, "reasoning_content"},
        call_fields={*CALL, "reasoning_content"},
        rules=(check_passed_back,),
    ),
    "gemini": Dialect(  # googleapis/python-genai#2868: a stream with calls ends with `stop`, and has no index
        finish={"tool_calls": "stop"},
        usage="every",
        sends_whole_calls=True,
        index="missing",
        call_id="function-call-{seed}{index}",
        signs=True,
        body_fields=GEMINI_BODY,
        message_fields={*MESSAGE, "extra_content"},
        call_fields={*CALL, "extra_content"},
    ),
    "mistral": Dialect(  # mistralai/client-python; anomalyco/opencode#1680; BerriAI/litellm#17761 and #30835
        thought="parts",
        finish={"length": "model_length"},
        usage="last",
        sends_whole_calls=True,
        call_id="{seed:.8}{index}",
        body_fields=MISTRAL_BODY,
        message_fields={"role", "content", "tool_calls", "tool_call_id", "prefix"},
        call_fields={*CALL, "index"},
        rules=(check_call_ids, check_order),
    ),
    "groq": Dialect(  # groq/groq-python
        thought="reasoning",
        sends_whole_calls=True,
        call_id="call_{seed:.6}{index}",
        body_fields=GROQ_BODY,
        message_fields={*MESSAGE, "reasoning"},
        rules=(check_no_names,),
    ),
    "together": Dialect(thought="reasoning", finish={"stop": "eos"}, usage="last", message_fields=None, call_fields=None),
    "ollama": Dialect(  # ollama/ollama#15457: every call has the index 0
        thought="reasoning",
        sends_whole_calls=True,
        index="zero",
        call_id="call_{seed:.7}{index}",
        message_fields=None,
        call_fields=None,
    ),
    "vllm": Dialect(
        thought="reasoning_content",
        call_id="chatcmpl-tool-{seed}{index:012d}",
        message_fields=None,
        call_fields=None,
    ),
    "llama.cpp": Dialect(
        thought="reasoning_content",
        usage="last",
        call_id="{seed}{index:012d}",
        message_fields=None,
        call_fields=None,
        rules=(check_no_prefill,),
    ),
}
