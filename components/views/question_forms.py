"""The questions of user graphs as cards: the usual schemas, a form for a JSON schema, and JSON for all others."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypedDict

from agent.preparation.questions import GraphDraft, GraphQuestion
from agent.preparation.schema_fields import MAX_FIELDS, MAX_LABEL_CHARS, read_field
from checkpoints.values import serde
from checkpoints.values.text import shorten
from words import _

# The first questions and the newest drafts are shown.
MAX_SHOWN_QUESTIONS = 20
# A question with more actions is answered as JSON.
MAX_SHOWN_ACTIONS = 50
# The limit applies to a question's own JSON, to a call's arguments, and to its description.
MAX_SHOWN_CHARS = 20_000
# The limit counts all calls or fields of a question. A longer question is answered as JSON.
MAX_PARTS_CHARS = 100_000
_EVERY_DECISION = ["approve", "edit", "reject"]
_KNOWN_DECISIONS = (*_EVERY_DECISION, "respond")


class ActionView(TypedDict):
    """A call for a person's decision. `arguments` is JSON."""

    name: str
    arguments: str
    description: str
    # A decision is approve, edit, reject or respond.
    decisions: list[str]


QuestionStyle = Literal["middleware", "inbox", "form", "text", "json", "continue"]


class QuestionView(TypedDict):
    """A question. `style` is the schema of the answer: LangChain's middleware, agent-inbox, a form, text, or any JSON."""

    id: str
    # A typed answer has this key (see `GraphQuestion`).
    key: str
    style: QuestionStyle
    # It is the question in words or as JSON; it is empty if the actions say everything.
    text: str
    # The text is JSON.
    is_code: bool
    # The JSON schema of an answer that is typed as JSON and can be nothing else.
    answer_schema: str
    actions: list[ActionView]
    # Each field has the values of a `FormField`.
    fields: list[dict[str, Any]]


class DraftView(TypedDict):
    """A text written by a subgraph before it asks, or while another subgraph asks."""

    # The subgraph asks these questions. The list is empty if another subgraph asks.
    questions: list[str]
    agent: str
    html: str


class QuestionsView(TypedDict):
    questions: list[QuestionView]
    drafts: list[DraftView]


def describe_drafts(drafts: Sequence[GraphDraft], to_html: Callable[[str], str]) -> list[DraftView]:
    """Describe the drafts beside the waiting questions. The State dialog has a long draft in full."""
    return [
        DraftView(questions=sorted(each.question_ids), agent=each.agent, html=to_html(shorten(each.text, MAX_SHOWN_CHARS)))
        for each in drafts[-MAX_SHOWN_QUESTIONS:]
    ]


def describe_questions(questions: Sequence[GraphQuestion], *, is_waiting: bool) -> list[QuestionView]:
    """Describe the waiting questions. A graph stopped before a node, without a question, can only be continued."""
    if not questions and is_waiting:
        text = _("The graph stopped here.")
        return [_make_view("", "", "continue", text, is_code=False)]
    return [_describe_question(each) for each in questions[:MAX_SHOWN_QUESTIONS]]


def _describe_question(question: GraphQuestion) -> QuestionView:
    """Describe a question. It is answered as JSON if its calls or fields cannot be shown, or cannot be answered there."""
    text = _describe_value(question.value)
    view = _make_view(question.id, question.key, "json", text, is_code=not isinstance(question.value, str))
    if actions := _keep_usable_actions(_read_middleware(question.value)):
        return {**view, "style": "middleware", "text": "", "actions": actions}
    if actions := _keep_usable_actions(_read_inbox(question.value)):
        return {**view, "style": "inbox", "text": "", "actions": actions}
    if fields := _read_fields(question.response_schema or {}):
        return {**view, "style": "form", "fields": fields}
    if fields := _read_fields(_read_own_schema(question.value)):
        return {**view, "style": "form", "text": _describe_schema(question.value), "is_code": False, "fields": fields}
    if question.response_schema is not None and not _takes_text(question.response_schema):
        return {**view, "answer_schema": _describe_value(question.response_schema)}
    return {**view, "style": "text"} if isinstance(question.value, str) else view


def _make_view(question_id: str, key: str, style: QuestionStyle, text: str, *, is_code: bool) -> QuestionView:
    return QuestionView(
        id=question_id, key=key, style=style, text=text, is_code=is_code, answer_schema="", actions=[], fields=[]
    )


def _keep_usable_actions(actions: list[ActionView]) -> list[ActionView]:
    """Return the calls if a person can decide about each of them, and none otherwise."""
    chars = sum(len(each["arguments"]) + len(each["description"]) for each in actions)
    return actions if chars <= MAX_PARTS_CHARS and all(each["decisions"] for each in actions) else []


def _read_middleware(value: Any) -> list[ActionView]:
    """Read the requests of LangChain's human-in-the-loop middleware."""
    requests = value.get("action_requests") if isinstance(value, dict) else None
    if not isinstance(requests, list) or not all(isinstance(each, dict) for each in requests):
        return []
    if len(requests) > MAX_SHOWN_ACTIONS:
        return []
    reviews = value.get("review_configs")
    allowed = {
        str(each.get("action_name")): _read_decisions(each.get("allowed_decisions"))
        for each in (reviews if isinstance(reviews, list) else ())
        if isinstance(each, dict)
    }
    return [
        _describe_action(
            each.get("name", each.get("action", "")),
            each.get("args", each.get("arguments", {})),
            each.get("description"),
            allowed.get(str(each.get("name")), _EVERY_DECISION),
        )
        for each in requests
    ]


def _read_decisions(names: Any) -> list[str]:
    """Return the decisions that a graph allows and the page knows. A graph without a list allows all."""
    if not names or not isinstance(names, list):
        return _EVERY_DECISION
    return [each for each in _KNOWN_DECISIONS if each in names]


def _read_inbox(value: Any) -> list[ActionView]:
    """Read a request in the form of agent-inbox: a single request, or a list with a single request."""
    request = value[0] if isinstance(value, list) and len(value) == 1 else value
    action = request.get("action_request") if isinstance(request, dict) else None
    if not isinstance(action, dict):
        return []
    config = request.get("config")
    allowed = config if isinstance(config, dict) else {}
    names = {"allow_accept": "approve", "allow_edit": "edit", "allow_respond": "respond", "allow_ignore": "reject"}
    decisions = [decision for key, decision in names.items() if allowed.get(key, True)]
    return [_describe_action(action.get("action", ""), action.get("args", {}), request.get("description"), decisions)]


def _describe_action(name: object, arguments: object, description: object, decisions: list[str]) -> ActionView:
    """Describe a call. A person cannot edit arguments that are shown only in part, or whose call's name is."""
    text = serde.format_indented(arguments)
    is_whole = len(text) <= MAX_SHOWN_CHARS and len(str(name)) <= MAX_LABEL_CHARS
    return ActionView(
        name=str(name)[:MAX_LABEL_CHARS],
        arguments=_shorten(text),
        description=str(description or "")[:MAX_SHOWN_CHARS],
        decisions=decisions if is_whole else [each for each in decisions if each != "edit"],
    )


def _read_own_schema(value: Any) -> dict[str, Any]:
    """Return a question that is itself a JSON schema of its answer; otherwise an empty schema."""
    return value if isinstance(value, dict) and value.get("type") == "object" else {}


def _describe_schema(schema: dict[str, Any]) -> str:
    words = (schema.get(name) for name in ("title", "description"))
    return _describe_value("\n\n".join(each for each in words if isinstance(each, str) and each))


def _read_fields(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Read the fields of a flat JSON schema, filled with their defaults; empty for any other schema."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS:
        return []
    required, definitions = schema.get("required"), schema.get("$defs")
    names = required if isinstance(required, list) else []
    known = definitions if isinstance(definitions, dict) else {}
    fields = [read_field(name, field, known, is_needed=name in names, is_filled=True) for name, field in properties.items()]
    if any(each.kind in ("texts", "json") for each in fields):
        return []
    views = [asdict(each) for each in fields]
    return views if len(json.dumps(views, ensure_ascii=False)) <= MAX_PARTS_CHARS else []


def _takes_text(schema: dict[str, Any]) -> bool:
    """Return whether an answer may be a plain string. A schema without a type says nothing about it."""
    definitions, kinds, known = schema.get("$defs"), [schema], 0
    # A definition may name itself, so none is read twice.
    while known < len(kinds):
        kind, known = kinds[known], known + 1
        name = str(kind.get("$ref")).removeprefix("#/$defs/")
        named = definitions.get(name) if isinstance(definitions, dict) else None
        lists = [kind[key] for key in ("anyOf", "oneOf", "enum") if isinstance(kind.get(key), list)]
        either = [each for listed in lists for each in listed]
        kinds += [each for each in (named, *either) if isinstance(each, dict) and each not in kinds]
        types = kind.get("type") or (() if "$ref" in kind or either else "string")
        if "string" in (types if isinstance(types, list) else [types]):
            return True
    return False


def _describe_value(value: Any) -> str:
    return _shorten(value if isinstance(value, str) else serde.format_indented(value))


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
