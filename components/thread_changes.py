"""Changes of several conversations at once, with one Undo for all."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from checkpoints import Caller, Receipt, StateError
from components import page_state
from components.services import Services
from components.views import operations
from words import _, ngettext


def build_update_of_threads(text: str, done: Sequence[Receipt], fields: Mapping[str, Any]) -> page_state.PageUpdate:
    """Build the update after a change of conversations. Its toast undoes all changes."""
    if not done:
        return page_state.report_problem(_("Nothing was changed. Please try again."))
    changed = [page_state.ChangedThread(thread=each.operation.thread_id, version=each.version) for each in done]
    undo = page_state.UndoTarget(thread=changed[0]["thread"], version=changed[0]["version"])
    if len(changed) > 1:
        undo["others"] = changed[1:]
    toast: page_state.ToastMessage = {"text": text, "undo": undo}
    return page_state.build_update(toast=toast, **fields)


async def change_each(
    services: Services, change: Callable[..., Receipt], thread_ids: Sequence[str], caller: Caller, **values: Any
) -> list[Receipt]:
    """Apply a change to several conversations. Skip those that refuse it, for example because they are gone.

    If all of them refuse, raise the first `StateError`.
    """
    each_change = [partial(change, thread_id, caller=caller, **values) for thread_id in dict.fromkeys(thread_ids)]
    done = await services.apply_changes(each_change)
    receipts = [each for each in done if isinstance(each, Receipt)]
    if done and not receipts and isinstance(done[0], StateError):
        raise done[0]
    return receipts


async def tag_each(
    services: Services, thread_ids: Sequence[str], caller: Caller, add: Sequence[str], remove: Sequence[str]
) -> page_state.PageUpdate:
    """Add and remove tags of conversations, by name. Return the update with a toast that says so."""
    done = await change_each(services, services.store.tag_thread, thread_ids, caller, add=add, remove=remove)
    if len(done) == 1:
        return build_update_of_threads(operations.describe_tagging(done[0].operation), done, {})
    text = ngettext("Changed the tags of {count:,} conversation", "Changed the tags of {count:,} conversations", len(done))
    return build_update_of_threads(text, done, {})
