"""Importing a document into a conversation: in the place of its contents, or merged with them.

An import has four steps. `import_contents` makes the contents of the document as they are stored, `existing_contents` reads
the database, `import_planning` plans the changes, and `import_writing` writes the plan and the contents, without the
document. The first step comes before the lock: SQLite lets nobody else write during the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..changes.transaction import ChangeBody, Transaction
from ..rows import tag_rows
from ..storage.driver_errors import translate_taken_ids
from ..storage.postgresql import allow_long_pauses
from ..values.operation_detail import NO_DETAIL
from ..values.progress import Report, count_steps, ignore_progress
from ..values.sentence import sentence
from ..values.tag import fold_tag
from .existing_contents import ExistingContents, read_existing_contents
from .import_contents import ImportContents, make_message_content, make_state_contents
from .import_plan import ImportPlan, MessageChain
from .import_planning import plan_merge, plan_new_chains, plan_replacement
from .import_writing import write_plan
from .waymark import Document

_MakePlan = Callable[[Document, ExistingContents, Sequence[MessageChain]], ImportPlan]


def make_replacement(doc: Document, report: Report = ignore_progress) -> ChangeBody:
    """Make the change that replaces a conversation's contents by a document's, with its current branch and head."""
    return _make_import(doc, plan_replacement, report)


def make_new_thread(doc: Document, report: Report = ignore_progress) -> ChangeBody:
    """Make the change that fills a new conversation with a document, and pins, archives and tags it as the document says.

    A tag that would be one too many here is left out, and named in the operation's detail.
    """
    replace_contents = make_replacement(doc, report)

    def fill_thread(transaction: Transaction) -> str | None:
        made = replace_contents(transaction)
        thread, names = transaction.thread, list(filter(None, doc.thread.tags))
        tags = tag_rows.ensure_tags(transaction.connection, thread.owner, names, transaction.new_id, leave_out=True)
        transaction.update_row("thread", thread.id, pinned=doc.thread.pinned, archived=doc.thread.archived, tags=tags)
        kept = set(map(fold_tag, tag_rows.select_names(transaction.connection, tags).values()))
        left_out = [name for name in names if fold_tag(name) not in kept]
        transaction.detail = replace(transaction.detail or NO_DETAIL, removed=left_out)
        return made

    return fill_thread


def make_merge(doc: Document, report: Report = ignore_progress) -> ChangeBody:
    """Make the change that adds a document to a conversation, see `plan_merge`. Raises `NothingNewError`."""
    return _make_import(doc, plan_merge, report)


def _make_import(doc: Document, make_plan: _MakePlan, report: Report) -> ChangeBody:
    parts = count_steps(doc.messages, report, sentence("Preparing"), "messages")
    messages = {part.id: make_message_content(doc, part) for part in parts}
    contents = ImportContents(messages, make_state_contents(doc))
    new_chains = plan_new_chains(doc)

    def import_document(transaction: Transaction) -> str:
        allow_long_pauses(transaction.connection)
        plan = make_plan(doc, read_existing_contents(transaction.connection, transaction.thread, doc), new_chains)
        with translate_taken_ids():
            write_plan(transaction, plan, contents, report)
        return transaction.thread.id

    return import_document
