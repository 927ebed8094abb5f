"""The tables. Rows of `segment` and `message` are written once; updates go to `thread`, `branch`, `checkpoint` and `run`.

Times are whole microseconds since 1970 in UTC: exact, small, the same on every database, and never used for order.
The conditions of partial indexes are named for SQLite alone: an option of PostgreSQL imports its dialect. There, the
revisions of `migrations` make every table and index.

In SQLite, a table of small rows whose key is a text is a tree of that key (`sqlite_with_rowid=False`): a table of numbered
rows would have an index of the key beside it.
"""

import sqlalchemy as sa

from .column_types import CheckpointId, MessageHash, SearchVector

metadata = sa.MetaData(naming_convention={"ix": "ix_%(table_name)s_%(column_0_N_name)s"})


def _refer_in_sqlite(column: str, target: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    """Make a foreign key that PostgreSQL does without: its checks are dear, and `verify` makes them (decision 105)."""
    return sa.ForeignKeyConstraint([column], [target], ondelete=ondelete).ddl_if("sqlite")


thread = sa.Table(
    "thread",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("branch_id", sa.Text, nullable=False),  # the branch that the page stands on
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("checkpoints_made", sa.Integer, nullable=False),  # default names count up and never come twice
    sa.Column("source", sa.Text),  # the hash of the document that it was imported from
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("tags", sa.JSON, nullable=False, server_default=sa.text("'[]'")),  # ids; `thread_tag` is their index
    sa.Index("ix_thread_owner_updated_at", "owner", "updated_at"),
    sa.Index("ix_thread_owner_pinned_updated_at", "owner", "pinned", "updated_at"),
)

# A stretch of the tree without a fork: see history.py.
segment = sa.Table(
    "segment",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("parent", sa.Integer),
    sa.Column("fork_depth", sa.Integer, nullable=False),  # depth of the parent message in `parent`; -1 for a root
    _refer_in_sqlite("parent", "segment.id"),
)

message = sa.Table(
    "message",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("thread_id", sa.Text, nullable=False),
    sa.Column("parent_id", sa.Text),
    sa.Column("segment", sa.Integer, sa.ForeignKey("segment.id"), nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),  # canonical JSON, as it was hashed
    sa.Column("hash", MessageHash, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("person", sa.Text),  # who acted, where people are told apart; no part of the hash
    # One message a place: two writers that both saw the same tip cannot both succeed.
    sa.UniqueConstraint("segment", "depth", name="uq_message_segment_depth"),
    _refer_in_sqlite("thread_id", "thread.id", ondelete="CASCADE"),  # it is that of the segment
)

# What users attached, once each (see files.py). Messages name them by hash, of whatever thread they are.
file = sa.Table(
    "file",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

branch = sa.Table(
    "branch",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("position", sa.Integer, nullable=False),  # how many the thread had made before: the list's order
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("head_id", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("state_id", sa.Integer),  # of a graph: the `number` of the state that belongs to the head
    _refer_in_sqlite("head_id", "message.id"),
    sqlite_with_rowid=False,
)

checkpoint = sa.Table(
    "checkpoint",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),  # how many the thread had made before: the list's order
    sa.Column("branch_id", sa.Text, nullable=False),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("segment", sa.Integer, nullable=False),  # the message's place, beside it so that a list needs no join
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("tokens", sa.Integer),
    sa.Column("pinned", sa.Boolean, nullable=False),
    sa.Column("detached", sa.Boolean, nullable=False),  # listed although the conversation went on without its messages
    sa.Column("extra", sa.JSON, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("state_id", sa.Integer),  # of a graph: the `number` of the state that was saved
    sa.Column("person", sa.Text),  # who saved it, where people are told apart
    _refer_in_sqlite("message_id", "message.id"),
    sa.UniqueConstraint("thread_id", "position", name="uq_checkpoint_thread_id_position"),
    # Saving looks for names that were used, and for milestones that a message had, also among thousands.
    sa.Index("ix_checkpoint_thread_id_name", "thread_id", "name"),
    sa.Index("ix_checkpoint_thread_id_message_id", "thread_id", "message_id"),
)

operation = sa.Table(
    "operation",
    metadata,
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("grouped", sa.Text),
    sa.Column("changes", sa.JSON, nullable=False),
    sa.Column("result", sa.Text),
    sa.Column("target", sa.Integer),  # of an undo or a redo: the version of the (last) operation that it took back
    sa.Column("undone_by", sa.Integer),  # the version of the undo that took this one back; NULL again after its redo
    sa.Column("request_id", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False, server_default=sa.text("'{}'")),  # see OperationDetail
    sa.Column("person", sa.Text),  # who acted, where people are told apart
    sa.Index(
        "uq_operation_thread_id_request",
        "thread_id",
        "request_id",
        unique=True,
        sqlite_where=sa.text("request_id IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

# The state of a graph's channels after one step, written once. It names the values of the channels: see graph_state.py.
state = sa.Table(
    "state",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # ascends from parents to children, and is never used again
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False),
    sa.Column("namespace", sa.Text, nullable=False),  # empty for the graph itself; else the place of a subgraph in it
    sa.Column("checkpoint_id", CheckpointId, nullable=False),  # LangGraph's
    sa.Column("parent", sa.Integer),  # its number; NULL for a parent that is not stored
    sa.Column("parent_id", CheckpointId),  # LangGraph's id of a parent that is not stored
    sa.Column("parent_hash", sa.LargeBinary),  # of a parent that was erased
    *(sa.Column(name, sa.Integer) for name in ("segment", "depth")),  # of the message where the conversation stood
    sa.Column("is_input", sa.Boolean, nullable=False),  # of a run: it belongs to the messages that are still to come
    sa.Column("run_id", sa.Text),  # NULL: the state's own id
    sa.Column("shape", sa.Integer, nullable=False),
    sa.Column("leaves", sa.LargeBinary, nullable=False),  # see graph_state.py
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Column("hidden", sa.Boolean, nullable=False, server_default=sa.false()),  # LangGraph's `prune` unlisted it
    sa.UniqueConstraint("thread_id", "namespace", "checkpoint_id", name="uq_state_thread_id_namespace_checkpoint_id"),
    sa.Index("ix_state_segment_depth", "segment", "depth", sqlite_where=sa.text("segment IS NOT NULL AND NOT is_input")),
    sqlite_autoincrement=True,
)

state_shape = sa.Table(  # the names in states, such as those of channels: most states of a graph have the same
    "state_shape",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("body", sa.Text, nullable=False),  # JSON
)

# Values of channels, and items of lists: a log that only grows. States name its numbers.
channel_value = sa.Table(
    "channel_value",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("type", sa.Text, nullable=False),  # of the serializer
    *(sa.Column(name, sa.LargeBinary, nullable=False) for name in ("bytes", "hash")),
    sa.Column("owner", sa.Text),  # of PostgreSQL's policy, by a default of the table: see row_security
    sqlite_autoincrement=True,
)

# What the tasks of a step have written. No reference to `state`: the writes may come before the state that they follow.
state_write = sa.Table(
    "state_write",
    metadata,
    *(sa.Column(name, sa.Text, primary_key=True) for name in ("thread_id", "namespace")),
    sa.Column("checkpoint_id", CheckpointId, primary_key=True),
    sa.Column("task_id", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),  # negative for errors and interrupts
    # Written by a run that began at this state. Were it not beside the key, SQLite 3.40 would find damage in the table.
    sa.Column("resumed", sa.Boolean, primary_key=True),
    # Of the step before this state, which holds its value: it came only after the state. Only the history reads it.
    sa.Column("late", sa.Boolean, primary_key=True),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("task_path", "channel", "type")),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

MOVABLE_TABLES = {"thread": thread, "branch": branch, "checkpoint": checkpoint}  # what an operation may change

run = sa.Table(
    "run",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),  # how many the thread had before: their order
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("draft", sa.Text, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("dismissed", sa.Boolean, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("head_id", sa.Text),  # where the thread stood when the run came to rest
    sa.Column("compacts", sa.Boolean, nullable=False, server_default=sa.false()),  # it summarises, and answers nothing
    sa.Column("draft_reasoning", sa.Text, nullable=False, server_default=""),  # before the draft's answer
    sa.Column("error_details", sa.Text),  # the words of the provider, behind the error's sentence
    sa.Column("error_sentence", sa.Text),  # JSON: the error's template and values, for other languages
    sa.Column("usage", sa.Text),  # of the budgets of a waiting run, as the agent wrote it
    sa.Column("rerun_id", sa.Text),  # of the rerun whose question it answers
    sa.Column("rerun_number", sa.Integer),  # of that question, from 1
    sa.Column("candidates", sa.Integer, nullable=False, server_default="0"),  # its rows in `candidate`
    sa.Column("worker", sa.Integer),  # that drives it; NULL: nobody yet, or the only process
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),  # one more for each worker: see workers.py
    sa.Column("stop_wanted", sa.Boolean, nullable=False, server_default=sa.false()),  # by a person, at another process
    sa.Column("job", sa.Text),  # JSON: how to drive it, for a worker that did not begin it
    sa.Column("person", sa.Text),  # who asked, where people are told apart
    sa.Index("ix_run_thread_id_number", "thread_id", "number"),
    sa.Index(
        "ix_run_thread_id_waiting",
        "thread_id",
        sqlite_where=sa.text("state = 'waiting'"),
    ),
    # The lock: one running run a thread, whoever asks.
    sa.Index(
        "uq_run_thread_id_running",
        "thread_id",
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
    ),
)

# The people whom the owner of a conversation lets in: see members.
thread_member = sa.Table(
    "thread_member",
    metadata,
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("person", sa.Text, primary_key=True, index=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("added_by", sa.Text, nullable=False),
    sa.Column("added_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The processes that serve this database, where there may be several: see workers.py.
worker = sa.Table(
    "worker",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # never used again
    sa.Column("name", sa.Text, nullable=False),  # for people
    sa.Column("heartbeat", sa.BigInteger, nullable=False),  # by the clock of the database, as all that it is compared with
    sqlite_autoincrement=True,
)

# The answers of several models to one question, each on a branch. Their states are those of runs.
candidate = sa.Table(
    "candidate",
    metadata,
    sa.Column("run_id", sa.Text, sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # from 1
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("branch_id", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("draft", sa.Text, nullable=False),
    sa.Column("draft_reasoning", sa.Text, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("error_details", sa.Text),
    sa.Column("error_sentence", sa.Text),
    sa.Column("head_id", sa.Text),  # of its last message
)

# The questions of a path, asked once more on a branch of their own.
rerun = sa.Table(
    "rerun",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("place", sa.Text, nullable=False),  # of the questions, as a comparison names places
    sa.Column("settings", sa.JSON, nullable=False),  # that replace those of the thread
    sa.Column("question_ids", sa.JSON, nullable=False),  # of the messages, in their order
)

# Texts that a person inserts into messages. They belong to no thread.
saved_prompt = sa.Table(
    "saved_prompt",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
)

# What a person tells the agent in all of their conversations.
default_instructions = sa.Table(
    "default_instructions",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)

# Names that a person gives to conversations. Two live ones of an owner differ in `folded`; a removed one has none.
tag = sa.Table(
    "tag",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("folded", sa.Text),
    sa.UniqueConstraint("owner", "folded", name="uq_tag_owner_folded"),
    sqlite_with_rowid=False,
)

# The index of `thread.tags`. See tag_rows.
thread_tag = sa.Table(
    "thread_tag",
    metadata,
    sa.Column("tag_id", sa.Text, sa.ForeignKey("tag.id"), primary_key=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# The tokens of an owner on a day, by model. They stay when answers are undone or erased: they were used.
usage = sa.Table(
    "usage",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),  # since 1970, in UTC
    sa.Column("model", sa.Text, primary_key=True),  # its spec; empty where it is not known
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("answers", "input", "cached", "output", "reasoning")),
    sqlite_with_rowid=False,
)

# Files that a page has sent, and no action has used yet, where several processes serve a database.
upload = sa.Table(
    "upload",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# Long requests of pages, as far as they have come, for the process that the page asks about them.
long_request = sa.Table(
    "long_request",
    metadata,
    *(sa.Column(name, sa.Text, primary_key=True) for name in ("owner", "id")),
    sa.Column("progress", sa.JSON),  # NULL: cancelled before the first report
    sa.Column("cancelled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# All other rows belong to a thread, or to nobody.
OWNED_TABLES = (thread, saved_prompt, default_instructions, tag, usage, upload, long_request)

# The people who sign in by themselves. A person's name is the owner of what is theirs.
person = sa.Table(
    "person",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("folded", sa.Text, nullable=False, unique=True),  # two names that differ in case alone would be mistaken
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("password_hash", sa.Text, nullable=False),  # empty: a provider signs them in
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Links that were not used yet, each for a new person, or for a new password of a known one.
invitation = sa.Table(
    "invitation",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("token_hash", sa.Text, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("person", sa.Text, sa.ForeignKey("person.name", ondelete="CASCADE"), index=True),
    sa.Column("made_by", sa.Text, nullable=False),  # empty: the server itself
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# The browsers in which people are signed in. The secrets are hashes.
session = sa.Table(
    "session",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("cookie_hash", sa.Text, nullable=False, unique=True),
    sa.Column("page_key_hash", sa.Text, nullable=False),
    sa.Column("person", sa.Text, sa.ForeignKey("person.name", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("browser", sa.Text, nullable=False),
    sa.Column("signed_in_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# What tries to sign in are counted by: see people.sign_in_limits.
sign_in_counter = sa.Table(
    "sign_in_counter",
    metadata,
    sa.Column("key_hash", sa.Text, primary_key=True),
    sa.Column("clear_at", sa.BigInteger, nullable=False, index=True),  # when no try will count any more
    sqlite_with_rowid=False,
)

# Whom a provider signs in: the hash of its issuer and subject, and the person. One without a person was erased.
identity = sa.Table(
    "identity",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, sa.ForeignKey("person.name", ondelete="SET NULL"), index=True),
    sqlite_with_rowid=False,
)

# Links under which strangers read a conversation, or the path to a checkpoint of it. See shares.
share = sa.Table(
    "share",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("token_hash", sa.Text, nullable=False, unique=True),
    sa.Column("thread_id", sa.Text, sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("checkpoint_id", sa.Text),  # NULL: the conversation as it is now
    sa.Column("redaction", sa.JSON, nullable=False),
    sa.Column("shows_name", sa.Boolean, nullable=False),  # of its owner
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("opened", sa.Integer, nullable=False),  # how often
    sqlite_with_rowid=False,
)

# Who did what beside the conversations: sign-ins, links, exports, erasures, roles, settings. See audit_rows.
audit_entry = sa.Table(
    "audit_entry",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # ascends, and is never used again
    sa.Column("time", sa.BigInteger, nullable=False, index=True),
    sa.Column("person", sa.Text, nullable=False),  # who did it; empty: nobody that is known
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("about", sa.Text, nullable=False),  # another person whom it concerns, or nobody
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Column("address", sa.Text, nullable=False),  # of the client; empty: the server itself, or the command line
    sa.Index("ix_audit_entry_person_number", "person", "number"),
    sa.Index("ix_audit_entry_kind_number", "kind", "number"),
    sqlite_autoincrement=True,
)

# What can be searched for: one row for each message, by its place, and for each listed checkpoint. See search_index.
search_entry = sa.Table(
    "search_entry",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # ascends as the entries are written
    sa.Column("segment", sa.Integer),
    sa.Column("depth", sa.Integer),
    sa.Column("checkpoint_id", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    # PostgreSQL: the words with their positions. SQLite: the words of a checkpoint, and of a message their checksum.
    # NULL: still to be indexed.
    sa.Column("words", sa.Text().with_variant(SearchVector(), "postgresql")),
    sa.UniqueConstraint("segment", "depth", name="uq_search_entry_segment_depth"),
    # Few entries are of checkpoints.
    sa.Index("uq_search_entry_checkpoint", "checkpoint_id", unique=True, sqlite_where=sa.text("checkpoint_id IS NOT NULL")),
    sa.Index("ix_search_entry_created_at_number", "created_at", "number"),
    sa.Index("ix_search_entry_queued", "number", sqlite_where=sa.text("words IS NULL")),
)

# The index of SQLite: words by the number of their entry. It has no text of its own. "ascii" divides at spaces, because the
# words contain no other separator; see checkpoints.search.words.
SEARCH_WORDS = "CREATE VIRTUAL TABLE search_words USING fts5(words, content='', tokenize='ascii')"
sa.event.listen(search_entry, "after_create", sa.DDL(SEARCH_WORDS).execute_if(dialect="sqlite"))  # type: ignore[no-untyped-call]
