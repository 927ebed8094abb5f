"""The work of a graph's sub-agents: messages of a subgraph that a tool runs, under the call of the tool.

They stand on the conversation's path under a name of their own, as those of the built-in agent's sub-agents: so the page
folds them under the call, and an undo takes them along. The graph never reads them there: it has its own states.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from agent.marks import CallKey, QuestionMark
from agent.subagents.delegation import load_last_turn
from checkpoints import MAIN, NewMessage, Store
from checkpoints.langgraph.channel_values import unwrap_value
from checkpoints.values import serde
from checkpoints.values.limits import describe_excess
from extensions.graphs.message_channel import list_messages
from extensions.graphs.path import MAX_PATH_SECONDS

# Shown of one state. A sub-agent's further messages are in the states alone, and pages read the conversation anew.
MAX_NEW_MESSAGES = 50
MAX_NAME_CHARS = 60
_NAME_ARGUMENT = "subagent_type"  # of the tool `task` of deepagents
_OTHER_CHARACTERS = re.compile(r"[^\w-]+")


@dataclass
class _Work:
    """The work of an agent for a call. `seen_ids` are those of messages that are on the path already."""

    key: CallKey
    agent: str
    question: str
    seen_ids: set[str]
    is_begun: bool = False  # its question is on the path
    pending: list[BaseMessage] = field(default_factory=list)  # that its tasks have written, and no state has yet


class DelegatedWork:
    """The sub-agents of one run, by the namespaces of their graphs. A stream tells of calls, and the saver of messages."""

    def __init__(self, store: Store, thread_id: str) -> None:
        self._store = store
        self._thread_id = thread_id
        self._calls: dict[str, ToolCall] = {}  # by the task that carries them out
        self._works: dict[str, _Work] = {}  # by namespace
        self._nodes: dict[str, str] = {}  # by task
        self._names: defaultdict[str, set[str]] = defaultdict(set)  # of the tasks at work, by agent

    def note_task(self, task: Mapping[str, Any]) -> None:
        """Note the call that a task carries out, and the end of a task."""
        if "input" not in task:
            for ids in self._names.values():
                ids.discard(task["id"])
            return
        self._nodes[task["id"]] = task["name"]
        if len(calls := _list_calls(task["input"])) == 1:
            self._calls[task["id"]] = calls[0]

    def find_node(self, task_id: str) -> str | None:
        """Return the name of the node that a task runs, where the stream has told it."""
        return self._nodes.get(task_id)

    def is_below_call(self, namespace: Iterable[str]) -> bool:
        """Return whether a call has started the graph at this place, or one around it."""
        return any(each.rpartition(":")[2] in self._calls for each in namespace)

    def note_writes(self, namespace: str, writes: Iterable[tuple[str, Any]]) -> None:
        """Note the writes of a sub-agent's task: the states of a DeltaChannel have no messages."""
        if (work := self._find_work(namespace)) is not None:
            written = (each for _, value in writes for each in _list(value))
            work.pending += [each for each in written if isinstance(each, BaseMessage)]

    def take_messages(self, namespace: str, values: Mapping[str, Any]) -> list[NewMessage]:
        """Return the new messages of a sub-agent, whose state with these values was written. The first is its question."""
        work = self._find_work(namespace)
        if work is None:
            return []
        plain = {name: unwrap_value(each) for name, each in values.items()}
        found, work.pending = list_messages(plain) or work.pending, []
        fresh = [each for each in found if isinstance(each, BaseMessage) and each.id not in work.seen_ids]
        work.seen_ids.update(each.id for each in fresh if each.id)
        shown = [each for each in fresh if _is_shown(each)][-MAX_NEW_MESSAGES:]
        if shown and not work.is_begun:
            shown = _put_question_first(shown, work)
            work.is_begun = True
        return [NewMessage(body, agent=work.agent) for each in shown if (body := read_body(each)) is not None]

    def _find_work(self, namespace: str) -> _Work | None:
        """Return the work of a sub-agent's graph; None for a subgraph that no call has started."""
        if namespace in self._works:
            return self._works[namespace]
        above, _, last = namespace.rpartition("|")
        task_id = last.partition(":")[2]
        asker = MAIN if not above else work.agent if (work := self._works.get(above)) else None
        if asker is None or (call := self._calls.get(task_id)) is None:
            return None
        self._works[namespace] = self._begin(CallKey(asker, call["id"] or ""), call, task_id)
        return self._works[namespace]

    def _begin(self, key: CallKey, call: ToolCall, task_id: str) -> _Work:
        """Begin the work for a call, or go on with that on the path: the run had waited for a person.

        Raises `TakesTooLongError`: the graph may have handed any message of the conversation to the sub-agent.
        """
        with self._store.database.begin_read(seconds=MAX_PATH_SECONDS):
            turn = load_last_turn(self._store, self._thread_id)
            stored = self._store.list_messages(self._thread_id)
        question = next((each for each in reversed(turn) if QuestionMark.of(each) == QuestionMark(key)), None)
        seen_ids = {str(each.body["data"].get("id") or each.id) for each in stored}
        agent = question.agent if question else self._choose_name(call)
        self._names[agent].add(task_id)
        return _Work(key, agent, serde.format_indented(call["args"]), seen_ids, is_begun=question is not None)

    def _choose_name(self, call: ToolCall) -> str:
        """Return a name that no other agent at work has: its messages are told apart by it."""
        named = str(call["args"].get(_NAME_ARGUMENT) or call["name"])
        base = _OTHER_CHARACTERS.sub("-", named).strip("-")[:MAX_NAME_CHARS] or "agent"
        base = f"{base}-agent" if base == MAIN else base
        name, number = base, 1
        while self._names[name]:
            number += 1
            name = f"{base}-{number}"
        return name


def _list_calls(given: Any) -> Sequence[ToolCall]:
    """Return the calls in the input of a task: those of LangChain's tools' node, or of the last message of a state."""
    if isinstance(given, Mapping) and isinstance(given.get("tool_call"), dict):
        return [given["tool_call"]]
    if isinstance(given, Mapping):
        messages = list_messages(given)
        last = messages[-1] if messages else None
        return last.tool_calls if isinstance(last, AIMessage) else []
    listed = given if isinstance(given, list) else []
    calls: Any = [each for each in listed if isinstance(each, dict) and {"name", "args", "id"} <= each.keys()]
    return list(calls)


def _is_shown(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage | AIMessage | ToolMessage)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _put_question_first(messages: list[BaseMessage], work: _Work) -> list[BaseMessage]:
    """Mark the first message as the question of the call; where the agent got none, its arguments are the question."""
    first, *others = messages
    if not isinstance(first, HumanMessage):
        first, others = HumanMessage(work.question), messages
    marked = first.additional_kwargs | QuestionMark(work.key).to_kwargs()
    return [first.model_copy(update={"additional_kwargs": marked}), *others]


def read_body(message: BaseMessage) -> dict[str, Any] | None:
    """Return the JSON of a message; None for one that the conversation cannot show, which the graph's states keep."""
    try:
        body = serde.to_body(message)
    except (TypeError, ValueError):
        return None
    return None if describe_excess(body) else body
