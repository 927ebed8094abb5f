"""The actions of the composer and of the transcript: send, stop, edit, choose, decide, undo."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.preparation.requests import RerunActiveError, replace_text
from agent.tracing.events import Feedback
from checkpoints import Caller, CandidateKey, Operation, OperationKind, Run, StateError, Store, ThreadNotFoundError
from checkpoints.values import files, serde
from checkpoints.values.files import File
from checkpoints.values.sentence import sentence
from components import page_state
from components.actions import Action, Answer, Handlers, say_refusal
from components.panels import approval, compact_command
from components.services import Services
from components.shapes import MalformedRequestError
from components.transfers.uploads import UploadGoneError
from components.views import message_window
from server.addresses import build_address
from words import N_, _

# Most runs have no more operations. For others, the newest are searched for the beginning of the run.
USUAL_RUN_OPERATIONS = 5
MAX_RUN_OPERATIONS = 30
# Stop replies within this time: a locked database records a run's end later.
MAX_STOP_SECONDS = 1.0
# A field with a text waits for the reply of these actions.
EDIT_ACTIONS = ("edit", "change", "answer")
NEW_THREAD_NOTICE = N_("That conversation no longer exists, so your message started a new one.")


async def _send_message(services: Services, action: Action) -> Answer:
    """Send a message, and drop the uploads of its files. Another attempt of the page uploads them again."""
    try:
        return await _accept_message(services, action)
    finally:
        for each in action.fields.get("files") or []:
            await services.uploads.forget(each["id"])


async def _accept_message(services: Services, action: Action) -> Answer:
    """Accept the message. The reply goes to the composer itself, because the next page update may replace the last."""
    is_attached = bool(action.fields.get("files"))
    if (scope := compact_command.parse_compact_command(action.fields["text"], attached=is_attached)) is not None:
        await compact_command.open_summary_dialog(services, action, scope)
        return Answer(page_state.build_update(), action.accept())
    run = await _send_prompt(services, action)
    if run.thread_id == action.page_thread_id:
        # The run's frames show the message, so the panels can be read later.
        return Answer(reply=action.accept())
    notice: Any = {"toast": {"text": _(NEW_THREAD_NOTICE), "undo": None}} if action.page_thread_id else {}
    return Answer(page_state.build_update(go=page_state.thread_address(run.thread_id), **notice), action.accept())


async def _stop_run(services: Services, action: Action) -> Answer:
    if action.page_thread_id:
        await services.runner.stop(action.page_thread_id, MAX_STOP_SECONDS)
    return Answer(page_state.build_update(), action.accept())


async def _leave_rerun(services: Services, action: Action) -> Answer:
    """Let a waiting message follow the rerun's current question. The stream tells the question's end."""
    await services.runner.leave_rerun(action.thread_id)
    return Answer()


async def _stop_candidate(services: Services, action: Action) -> Answer:
    """Stop the answer of a candidate. Its end comes over the socket."""
    await services.runner.stop_candidate(action.thread_id, action.fields["run"], action.fields["number"])
    return Answer(reply=action.accept())


async def _retry_candidate(services: Services, action: Action) -> Answer:
    """Let a candidate answer once more. Its first frame comes over the socket."""
    key = CandidateKey(action.fields["run"], action.fields["number"])
    await services.runner.retry_candidate(action.thread_id, key, caller=action.caller)
    return Answer(page_state.build_update(), action.accept())


def refuse_message(action: Action, error: StateError) -> Answer:
    """Reply to the composer with the reason. The composer keeps the text."""
    if isinstance(error, RerunActiveError):
        return Answer(page_state.build_update(), action.postpone())
    return Answer(page_state.build_update(), action.refuse(error))


async def _send_suggestion(services: Services, action: Action) -> Answer:
    run = await _send_prompt(services, action)
    return Answer(page_state.build_update(go=page_state.thread_address(run.thread_id)), action.accept())


async def _send_prompt(services: Services, action: Action) -> Run:
    """Begin an answer. If the page shows no conversation, although its address may name one, begin a new conversation."""
    fields, thread_id, caller = action.fields, action.page_thread_id, action.caller
    is_shown = bool(fields.get("version"))
    if thread_id is not None and not is_shown and not await services.read_snapshot(services.store.thread_exists, thread_id):
        thread_id = None
    chosen: dict[str, Any] = {"chosen_settings": fields.get("choice"), "models": fields.get("models", ())}
    chosen["inputs"] = _parse_inputs(fields.get("inputs"))
    attached = await _load_files(services, action)
    caller = caller if thread_id else Caller(request_id=caller.request_id)
    return await services.runner.send(thread_id, fields["text"], caller=caller, attachments=attached, **chosen)


def _parse_inputs(text: str | None) -> dict[str, Any] | None:
    """Parse the inputs of a user graph beside a message. Raises `MalformedRequestError`."""
    if text is None:
        return None
    try:
        inputs = serde.require_exact(serde.sanitize_json(json.loads(text)))
    except (ValueError, TypeError, RecursionError):
        raise MalformedRequestError("inputs") from None
    if not isinstance(inputs, dict):
        raise MalformedRequestError("inputs")
    return inputs


async def _load_files(services: Services, action: Action) -> list[File]:
    """Return the files of a message by their uploads. Raises `UploadGoneError` and `InvalidFileError`.

    A repeated request, whose first attempt has used the uploads, gets the files stored by the first attempt.
    """
    named = [(each["name"], await services.uploads.find(each["id"])) for each in action.fields.get("files") or []]
    if not named:
        return []
    found = [(name, upload.data) for name, upload in named if upload]
    if len(found) == len(named):
        return await services.run_blocking(_parse_files, found)
    stored = await services.read_snapshot(services.runs.read_sent_files, action.caller.request_id or "")
    if [file.name for file in stored] != [files.clean_file_name(name) for name, _ in named]:
        name = next(name for name, upload in named if upload is None)
        raise UploadGoneError(sentence("{name} was not kept on the server: send the message again.", name=name))
    return stored


def _parse_files(found: Sequence[tuple[str, bytearray]]) -> list[File]:
    return files.parse_files([(name, bytes(data)) for name, data in found])


async def _retry_answer(services: Services, action: Action) -> Answer:
    await services.runner.retry(action.thread_id, caller=action.caller, message_id=action.fields.get("message"))
    return Answer(page_state.build_update(), action.accept())


async def _continue_answer(services: Services, action: Action) -> Answer:
    await services.runner.continue_answer(action.thread_id, caller=action.caller)
    return Answer(page_state.build_update(), action.accept())


async def _continue_rerun(services: Services, action: Action) -> Answer:
    await services.runner.reruns.go_on(action.thread_id, caller=action.caller)
    return Answer(page_state.build_update(), action.accept())


async def _edit_message(services: Services, action: Action) -> Answer:
    message_id, text = action.fields["message"], action.fields["text"]
    await services.runner.edit(action.thread_id, message_id, text, caller=action.caller)
    return Answer(page_state.build_update(), action.accept())


async def _change_text(services: Services, action: Action) -> Answer:
    thread_id, message_id, store = action.thread_id, action.fields["message"], services.store
    message = replace_text(await services.read_snapshot(store.get_message, thread_id, message_id), action.fields["text"])
    await services.apply_change(store.replace, thread_id, message_id, message, caller=action.caller)
    return Answer(page_state.build_update(), action.accept())


async def _summarise_messages(services: Services, action: Action) -> Answer:
    await compact_command.open_summary_dialog(services, action, compact_command.read_summary_scope(action.fields))
    return Answer(page_state.build_update(), action.accept())


async def _choose_alternative(services: Services, action: Action) -> Answer:
    thread_id, message_id, store = action.thread_id, action.fields["message"], services.store
    await services.apply_change(store.choose, thread_id, message_id, caller=action.caller)
    window = message_window.resolve_window(action.window, thread_id)
    window = await services.read_snapshot(message_window.extend_window, store, thread_id, message_id, window)
    return Answer(page_state.build_update(), action.accept(), window)


async def _visit_message(services: Services, action: Action) -> Answer:
    thread_id, message_id, store = action.thread_id, action.fields["message"], services.store
    done = await services.apply_change(store.switch, thread_id, action.fields["branch"], caller=action.caller)
    text = _("Switched to the branch “{name}”, which has this message.", name=done.operation.detail.name)
    undo: page_state.UndoTarget = {"thread": thread_id, "version": done.version}
    window = await services.read_snapshot(message_window.window_around, store, thread_id, message_id)
    return Answer(page_state.build_update(toast={"text": text, "undo": undo}), action.accept(), window)


async def _decide_call(services: Services, action: Action) -> Answer:
    await approval.submit_decision(services, action.thread_id, action.fields)
    return Answer(page_state.build_update(), action.accept())


async def _answer_question(services: Services, action: Action) -> Answer:
    await approval.submit_answer(services, action.thread_id, action.fields)
    return Answer(page_state.build_update(), action.accept())


async def _dismiss_run(services: Services, action: Action) -> Answer:
    await services.run_blocking(services.runs.dismiss_latest, action.thread_id)
    return Answer(page_state.build_update(), action.accept())


async def _revert_last_change(services: Services, action: Action) -> Answer:
    done = await services.apply_change(services.store.revert_last, action.thread_id, caller=action.caller)
    return Answer(page_state.update_after_undo(action.thread_id, done.version), action.accept())


async def _close_notice(services: Services, action: Action) -> Answer:
    last = await services.read_snapshot(find_notice_operation, services.store, action.thread_id)
    return Answer(page_state.build_update(closed=str(last.version) if last else ""), action.accept())


async def _send_feedback(services: Services, action: Action) -> Answer:
    """Record the rating of an answer. Nothing on the page changes."""
    await services.read_snapshot(_record_feedback, services, action.thread_id, action.fields)
    return Answer(reply=action.accept())


async def _move_window(services: Services, action: Action) -> Answer:
    thread_id = action.thread_id
    window = message_window.resolve_window(action.window, thread_id)
    move = message_window.move_window
    return Answer(window=await services.read_snapshot(move, services.store, thread_id, window, action.fields))


def refuse_action(action: Action, error: StateError) -> Answer:
    """Report the error in the field with the text, or in a toast. If the conversation no longer exists, go to "/"."""
    if isinstance(error, ThreadNotFoundError):
        return Answer(page_state.build_update(go=build_address("/")))
    if action.kind in EDIT_ACTIONS:
        return Answer(page_state.refresh_panels(action.last_update), action.refuse(error))
    return Answer(page_state.report_problem(say_refusal(error)), action.refuse(error))


def find_notice_operation(store: Store, thread_id: str) -> Operation | None:
    """Return the operation of the notice, the newest apart from the judge's.

    For the run that wrote the newest messages, it is the last operation that replaced earlier messages, such as a move
    through time, or else the run's first operation.
    """
    found = _list_run_operations(store, thread_id)
    moves = (OperationKind.GOTO, OperationKind.REWIND)
    return next((op for op in found if op.kind in moves or op.is_rewriting), found[-1] if found else None)


def _list_run_operations(store: Store, thread_id: str) -> list[Operation]:
    """Return the operations of the last run, newest first, or the last operation alone if it belongs to no run."""
    found: list[Operation] = []
    for count in (USUAL_RUN_OPERATIONS, MAX_RUN_OPERATIONS):
        newest = [op for op in store.list_operations(thread_id, last=count, abridged=True) if op.actor != "judge"]
        group = newest[0].undo_group if newest else None
        found = [op for op in newest if op.undo_group == group] if group else newest[:1]
        begins_earlier = all(op.undo_group in (None, group) for op in newest) and found and found[-1].actor != "user"
        if newest and not (group and begins_earlier):
            break
    return found


def _record_feedback(services: Services, thread_id: str, fields: Mapping[str, Any]) -> None:
    """Pass the rating of an answer to the tracer. None takes a rating back."""
    answer, good = services.store.get_message(thread_id, fields["message"]), fields["good"]
    if answer.run_id:
        services.tracer.record(Feedback(answer.run_id, answer.id, good if good is None else bool(good)))


COMPOSER_ACTIONS: Handlers = {"send": _send_message, "stop": _stop_run, "leave-rerun": _leave_rerun}
HISTORY_ACTIONS: Handlers = {"undo": _revert_last_change, "choose": _choose_alternative}
TRANSCRIPT_ACTIONS: Handlers = {
    "suggest": _send_suggestion,
    "retry": _retry_answer,
    "regenerate": _retry_answer,
    "continue": _continue_answer,
    "continue-rerun": _continue_rerun,
    "stop-rerun": _stop_run,
    "stop-candidate": _stop_candidate,
    "retry-candidate": _retry_candidate,
    "edit": _edit_message,
    "change": _change_text,
    "summarise": _summarise_messages,
    "choose": _choose_alternative,
    "visit": _visit_message,
    "decide": _decide_call,
    "answer": _answer_question,
    "dismiss": _dismiss_run,
    "undo": _revert_last_change,
    "close-notice": _close_notice,
    "feedback": _send_feedback,
    **dict.fromkeys(message_window.WINDOW_ACTIONS, _move_window),
}
