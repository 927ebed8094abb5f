"""The first schema. Databases of the revisions 0001 to 0031, which came before it, are refused.

The tables of both databases are written once, with the words in which SQLite and PostgreSQL differ in braces. Later changes
of `schema.py` are revisions of their own, and leave this one as it is.
"""

from alembic import op

revision = "0032"
down_revision = None
kind = "contract"

_TABLES = """
CREATE TABLE thread (
    id TEXT NOT NULL, owner TEXT NOT NULL, title TEXT NOT NULL, settings JSON NOT NULL, branch_id TEXT NOT NULL,
    version INTEGER NOT NULL, checkpoints_made INTEGER NOT NULL, source TEXT, created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL, deleted_at BIGINT, pinned BOOLEAN DEFAULT {false} NOT NULL,
    archived BOOLEAN DEFAULT {false} NOT NULL, tags JSON DEFAULT '[]' NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE segment (
    id {counter} NOT NULL, thread_id TEXT NOT NULL, parent INTEGER, fork_depth INTEGER NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE{key_of_parent}
);
CREATE TABLE message (
    id TEXT NOT NULL, thread_id TEXT NOT NULL, parent_id TEXT, segment INTEGER NOT NULL, depth INTEGER NOT NULL,
    agent TEXT NOT NULL, status TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL, run_id TEXT,
    created_at BIGINT NOT NULL, person TEXT,
    PRIMARY KEY (id),
    CONSTRAINT uq_message_segment_depth UNIQUE (segment, depth),
    FOREIGN KEY (segment) REFERENCES segment (id){key_of_thread}
);
CREATE TABLE file (
    hash TEXT NOT NULL, media_type TEXT NOT NULL, size INTEGER NOT NULL, bytes {bytes} NOT NULL, created_at BIGINT NOT NULL,
    PRIMARY KEY (hash)
);
CREATE TABLE branch (
    id TEXT NOT NULL, thread_id TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, head_id TEXT,
    created_at BIGINT NOT NULL, deleted_at BIGINT, state_id INTEGER,
    PRIMARY KEY (id),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE{key_of_head}
){tree};
CREATE TABLE checkpoint (
    id TEXT NOT NULL, thread_id TEXT NOT NULL, position INTEGER NOT NULL, branch_id TEXT NOT NULL, message_id TEXT NOT NULL,
    segment INTEGER NOT NULL, depth INTEGER NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
    created_by TEXT NOT NULL, tokens INTEGER, pinned BOOLEAN NOT NULL, detached BOOLEAN NOT NULL, extra JSON NOT NULL,
    created_at BIGINT NOT NULL, deleted_at BIGINT, state_id INTEGER, person TEXT,
    PRIMARY KEY (id),
    CONSTRAINT uq_checkpoint_thread_id_position UNIQUE (thread_id, position),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE{key_of_message}
);
CREATE TABLE operation (
    thread_id TEXT NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, actor TEXT NOT NULL, grouped TEXT,
    changes JSON NOT NULL, result TEXT, target INTEGER, undone_by INTEGER, request_id TEXT, created_at BIGINT NOT NULL,
    detail JSON DEFAULT '{{}}' NOT NULL, person TEXT,
    PRIMARY KEY (thread_id, version),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
){tree};
CREATE TABLE state (
    number {counter} NOT NULL PRIMARY KEY{ascending}, thread_id TEXT NOT NULL, namespace TEXT NOT NULL,
    checkpoint_id {bytes} NOT NULL, parent INTEGER, parent_id {bytes}, parent_hash {bytes}, segment INTEGER, depth INTEGER,
    is_input BOOLEAN NOT NULL, run_id TEXT, shape INTEGER NOT NULL, leaves {bytes} NOT NULL, hash {bytes} NOT NULL,
    hidden BOOLEAN DEFAULT {false} NOT NULL,
    CONSTRAINT uq_state_thread_id_namespace_checkpoint_id UNIQUE (thread_id, namespace, checkpoint_id),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
);
CREATE TABLE state_shape (
    number {counter} NOT NULL, hash {bytes} NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (number),
    UNIQUE (hash)
);
CREATE TABLE channel_value (
    number {counter} NOT NULL PRIMARY KEY{ascending}, type TEXT NOT NULL, bytes {bytes} NOT NULL, hash {bytes} NOT NULL,
    owner TEXT
);
CREATE TABLE state_write (
    thread_id TEXT NOT NULL, namespace TEXT NOT NULL, checkpoint_id {bytes} NOT NULL, task_id TEXT NOT NULL,
    position INTEGER NOT NULL, resumed BOOLEAN NOT NULL, task_path TEXT NOT NULL, channel TEXT NOT NULL, type TEXT NOT NULL,
    bytes {bytes} NOT NULL,
    PRIMARY KEY (thread_id, namespace, checkpoint_id, task_id, position, resumed)
){tree};
CREATE TABLE run (
    id TEXT NOT NULL, thread_id TEXT NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL, draft TEXT NOT NULL, error TEXT,
    dismissed BOOLEAN NOT NULL, started_at BIGINT NOT NULL, ended_at BIGINT, head_id TEXT,
    compacts BOOLEAN DEFAULT {false} NOT NULL, draft_reasoning TEXT DEFAULT '' NOT NULL, error_details TEXT,
    error_sentence TEXT, usage TEXT, rerun_id TEXT, rerun_number INTEGER, candidates INTEGER DEFAULT '0' NOT NULL,
    worker INTEGER, attempt INTEGER DEFAULT '0' NOT NULL, stop_wanted BOOLEAN DEFAULT {false} NOT NULL, job TEXT,
    person TEXT,
    PRIMARY KEY (id),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
);
CREATE TABLE thread_member (
    thread_id TEXT NOT NULL, person TEXT NOT NULL, role TEXT NOT NULL, added_by TEXT NOT NULL, added_at BIGINT NOT NULL,
    PRIMARY KEY (thread_id, person),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
){tree};
CREATE TABLE worker (id {counter} NOT NULL PRIMARY KEY{ascending}, name TEXT NOT NULL, heartbeat BIGINT NOT NULL);
CREATE TABLE candidate (
    run_id TEXT NOT NULL, number INTEGER NOT NULL, thread_id TEXT NOT NULL, model TEXT NOT NULL, branch_id TEXT NOT NULL,
    state TEXT NOT NULL, draft TEXT NOT NULL, draft_reasoning TEXT NOT NULL, error TEXT, error_details TEXT,
    error_sentence TEXT, head_id TEXT,
    PRIMARY KEY (run_id, number),
    FOREIGN KEY (run_id) REFERENCES run (id) ON DELETE CASCADE,
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
);
CREATE TABLE rerun (
    id TEXT NOT NULL, thread_id TEXT NOT NULL, place TEXT NOT NULL, settings JSON NOT NULL, question_ids JSON NOT NULL,
    PRIMARY KEY (id),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
);
CREATE TABLE saved_prompt (
    id TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE tag (
    id TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, folded TEXT,
    PRIMARY KEY (id),
    CONSTRAINT uq_tag_owner_folded UNIQUE (owner, folded)
){tree};
CREATE TABLE thread_tag (
    tag_id TEXT NOT NULL, thread_id TEXT NOT NULL,
    PRIMARY KEY (tag_id, thread_id),
    FOREIGN KEY (tag_id) REFERENCES tag (id),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
){tree};
CREATE TABLE usage (
    owner TEXT NOT NULL, day INTEGER NOT NULL, model TEXT NOT NULL, answers BIGINT NOT NULL, input BIGINT NOT NULL,
    cached BIGINT NOT NULL, output BIGINT NOT NULL, reasoning BIGINT NOT NULL,
    PRIMARY KEY (owner, day, model)
){tree};
CREATE TABLE upload (
    id TEXT NOT NULL, owner TEXT NOT NULL, size INTEGER NOT NULL, bytes {bytes} NOT NULL, created_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE long_request (
    owner TEXT NOT NULL, id TEXT NOT NULL, progress JSON, cancelled BOOLEAN DEFAULT {false} NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
){tree};
CREATE TABLE person (
    name TEXT NOT NULL, folded TEXT NOT NULL, role TEXT NOT NULL, password_hash TEXT NOT NULL, created_at BIGINT NOT NULL,
    PRIMARY KEY (name),
    UNIQUE (folded)
){tree};
CREATE TABLE invitation (
    id TEXT NOT NULL, token_hash TEXT NOT NULL, role TEXT NOT NULL, person TEXT, made_by TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (token_hash),
    FOREIGN KEY (person) REFERENCES person (name) ON DELETE CASCADE
){tree};
CREATE TABLE session (
    id TEXT NOT NULL, cookie_hash TEXT NOT NULL, page_key_hash TEXT NOT NULL, person TEXT NOT NULL, browser TEXT NOT NULL,
    signed_in_at BIGINT NOT NULL, seen_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (cookie_hash),
    FOREIGN KEY (person) REFERENCES person (name) ON DELETE CASCADE
){tree};
CREATE TABLE sign_in_counter (key_hash TEXT NOT NULL, clear_at BIGINT NOT NULL, PRIMARY KEY (key_hash)){tree};
CREATE TABLE identity (
    id TEXT NOT NULL, person TEXT,
    PRIMARY KEY (id),
    FOREIGN KEY (person) REFERENCES person (name) ON DELETE SET NULL
){tree};
CREATE TABLE share (
    id TEXT NOT NULL, token_hash TEXT NOT NULL, thread_id TEXT NOT NULL, checkpoint_id TEXT, redaction JSON NOT NULL,
    shows_name BOOLEAN NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, opened INTEGER NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (token_hash),
    FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE
){tree};
CREATE TABLE audit_entry (
    number {counter} NOT NULL PRIMARY KEY{ascending}, time BIGINT NOT NULL, person TEXT NOT NULL, kind TEXT NOT NULL,
    about TEXT NOT NULL, detail JSON NOT NULL, address TEXT NOT NULL
);
CREATE TABLE search_entry (
    number {counter} NOT NULL, segment INTEGER, depth INTEGER, checkpoint_id TEXT, created_at BIGINT NOT NULL,
    words {words} NOT NULL,
    PRIMARY KEY (number),
    CONSTRAINT uq_search_entry_segment_depth UNIQUE (segment, depth){key_of_checkpoint}
);
CREATE TABLE search_pending (
    segment INTEGER NOT NULL, depth INTEGER NOT NULL,
    PRIMARY KEY (segment),
    FOREIGN KEY (segment) REFERENCES segment (id) ON DELETE CASCADE
)
"""
_IN_SQLITE = {
    "false": "0",
    "counter": "INTEGER",
    "ascending": " AUTOINCREMENT",
    "bytes": "BLOB",
    "words": "TEXT",
    "tree": " WITHOUT ROWID",
    "key_of_parent": ", FOREIGN KEY (parent) REFERENCES segment (id)",
    "key_of_thread": ", FOREIGN KEY (thread_id) REFERENCES thread (id) ON DELETE CASCADE",
    "key_of_head": ", FOREIGN KEY (head_id) REFERENCES message (id)",
    "key_of_message": ", FOREIGN KEY (message_id) REFERENCES message (id)",
    "key_of_checkpoint": "",
}
_IN_POSTGRESQL = {
    **dict.fromkeys(_IN_SQLITE, ""),
    "false": "false",
    "counter": "SERIAL",
    "bytes": "BYTEA",
    "words": "TSVECTOR",
    "key_of_checkpoint": ", CONSTRAINT uq_search_entry_checkpoint_id UNIQUE (checkpoint_id)",
}
_INDEXES = """
CREATE INDEX ix_thread_owner_updated_at ON thread (owner, updated_at);
CREATE INDEX ix_thread_owner_pinned_updated_at ON thread (owner, pinned, updated_at);
CREATE INDEX ix_segment_thread_id ON segment (thread_id);
CREATE INDEX ix_branch_thread_id ON branch (thread_id);
CREATE INDEX ix_checkpoint_thread_id_name ON checkpoint (thread_id, name);
CREATE INDEX ix_checkpoint_thread_id_message_id ON checkpoint (thread_id, message_id);
CREATE UNIQUE INDEX uq_operation_thread_id_request ON operation (thread_id, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX ix_state_segment_depth ON state (segment, depth) WHERE segment IS NOT NULL AND NOT is_input;
CREATE INDEX ix_run_thread_id_number ON run (thread_id, number);
CREATE INDEX ix_run_thread_id_waiting ON run (thread_id) WHERE state = 'waiting';
CREATE UNIQUE INDEX uq_run_thread_id_running ON run (thread_id) WHERE state = 'running';
CREATE INDEX ix_thread_member_person ON thread_member (person);
CREATE INDEX ix_candidate_thread_id ON candidate (thread_id);
CREATE INDEX ix_rerun_thread_id ON rerun (thread_id);
CREATE INDEX ix_saved_prompt_owner ON saved_prompt (owner);
CREATE INDEX ix_thread_tag_thread_id ON thread_tag (thread_id);
CREATE INDEX ix_upload_owner ON upload (owner);
CREATE INDEX ix_invitation_person ON invitation (person);
CREATE INDEX ix_session_person ON session (person);
CREATE INDEX ix_sign_in_counter_clear_at ON sign_in_counter (clear_at);
CREATE INDEX ix_identity_person ON identity (person);
CREATE INDEX ix_share_thread_id ON share (thread_id);
CREATE INDEX ix_audit_entry_time ON audit_entry (time);
CREATE INDEX ix_audit_entry_person_number ON audit_entry (person, number);
CREATE INDEX ix_audit_entry_kind_number ON audit_entry (kind, number);
CREATE INDEX ix_search_entry_created_at_number ON search_entry (created_at, number)
"""
_OF_SQLITE = """
CREATE UNIQUE INDEX uq_search_entry_checkpoint_id ON search_entry (checkpoint_id) WHERE checkpoint_id IS NOT NULL;
CREATE VIRTUAL TABLE search_words USING fts5(words, content='', tokenize='ascii')
"""
_OF_POSTGRESQL = """
CREATE INDEX ix_search_entry_words ON search_entry USING gin (words);
ALTER TABLE alembic_version ADD COLUMN oldest_beside VARCHAR(32)
"""

_EVERYBODY = "current_setting('waymark.everybody', true) = 'on'"
_PERSON = "current_setting('waymark.owner', true)"
_VALUES = "current_setting('waymark.values', true)"
_OF_OWNER = f"owner = {_PERSON} OR {_EVERYBODY}"
# What the transaction has named comes first: a function looks each other conversation up. A subquery would read all
# conversations for each statement, since PostgreSQL hashes it.
_IS_NAMED = "{} = ANY (string_to_array(current_setting('waymark.{}', true), ','))"
# No policy of `thread_member` asks one of `thread` to read: `thread` asks `thread_member`, and a circle would have no end.
_IS_MEMBER = f"SELECT FROM thread_member m WHERE m.thread_id = wanted AND m.person = {_PERSON}"
_IS_OWNER = f"EXISTS (SELECT FROM thread t WHERE t.id = wanted AND t.owner = {_PERSON})"
_FUNCTIONS = {
    "is_member": f"EXISTS ({_IS_MEMBER})",
    "owns_thread": _IS_OWNER,
    # By the policy of `thread`.
    "sees_thread": "EXISTS (SELECT FROM thread t WHERE t.id = wanted)",
    "changes_thread": f"{_IS_OWNER} OR EXISTS ({_IS_MEMBER} AND m.role = 'editor')",
}
# No policy compares a row with what it was. Who passes the policies passes this, too.
_KEEP_OWNER = """
CREATE FUNCTION keep_owner() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF row_security_active('thread') AND current_setting('waymark.everybody', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'a conversation keeps its owner' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$
"""
_TRIGGER = """
CREATE TRIGGER keep_owner BEFORE UPDATE OF owner ON thread FOR EACH ROW
WHEN (OLD.owner IS DISTINCT FROM NEW.owner) EXECUTE FUNCTION keep_owner()
"""
_OF_THREADS = (
    *("segment", "message", "branch", "checkpoint", "operation"),
    *("state", "state_write", "run", "candidate", "rerun"),
)


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    tables = _TABLES.format_map(_IN_SQLITE if is_sqlite else _IN_POSTGRESQL)
    for statements in (tables, _INDEXES, _OF_SQLITE if is_sqlite else _OF_POSTGRESQL):
        for statement in statements.split(";\n"):
            op.execute(statement)
    if not is_sqlite:
        _protect_rows()


def _protect_rows() -> None:
    """Show each transaction of PostgreSQL the rows of who acts: see row_security."""
    for name, condition in _FUNCTIONS.items():
        body = f"$$ BEGIN RETURN {condition}; END $$"
        op.execute(f"CREATE FUNCTION {name}(wanted text) RETURNS boolean LANGUAGE plpgsql STABLE AS {body}")
    op.execute(_KEEP_OWNER)
    op.execute(_TRIGGER)
    _protect_conversations()
    for table in ("saved_prompt", "tag", "usage", "upload", "long_request"):
        _add_policy(table, _OF_OWNER)
    for table in ("person", "invitation", "session", "sign_in_counter", "identity"):
        _add_policy(table, _EVERYBODY)
    _add_policy("file", f"{_IS_NAMED.format('hash', 'files')} OR {_EVERYBODY}")
    # Each change writes its entry, and reads none.
    _add_policy("audit_entry", _EVERYBODY, "true")
    # Values are of the owner of the conversation whose states name them, whoever asked for the answer.
    op.execute(f"ALTER TABLE channel_value ALTER owner SET DEFAULT coalesce(nullif({_VALUES}, ''), nullif({_PERSON}, ''))")
    of_value = f"owner IS NULL OR owner = {_VALUES} OR {_OF_OWNER}"
    _add_policy("channel_value", of_value, of_value)


def _protect_conversations() -> None:
    _add_policy(
        "thread",
        f"{_OF_OWNER} OR {_IS_NAMED.format('id', 'threads')} OR is_member(id)",
        f"{_OF_OWNER} OR {_IS_NAMED.format('id', 'changed')} OR changes_thread(id)",
        _OF_OWNER,
    )
    seen = f"{_EVERYBODY} OR {_IS_NAMED.format('thread_id', 'threads')} OR sees_thread(thread_id)"
    changed = f"{_EVERYBODY} OR {_IS_NAMED.format('thread_id', 'changed')} OR changes_thread(thread_id)"
    for table in _OF_THREADS:
        _add_policy(table, seen, changed, changed)
    own = f"{_EVERYBODY} OR owns_thread(thread_id)"
    for table in ("thread_tag", "share"):
        _add_policy(table, own, own)
    _add_policy(
        "thread_member",
        f"{_EVERYBODY} OR person = {_PERSON} OR {_IS_NAMED.format('thread_id', 'threads')}",
        own,
        f"{_EVERYBODY} OR person = {_PERSON} OR owns_thread(thread_id)",
    )


def _add_policy(table: str, seen: str, changed: str = "", removed: str = "") -> None:
    """Let the rows of a condition be seen, those of another be written, and of these those of a third be deleted."""
    # Forced, it binds the owner of the tables, who Waymark is.
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY owned ON {table} USING ({seen})" + (f" WITH CHECK ({changed})" if changed else ""))
    if removed:
        op.execute(f"CREATE POLICY kept ON {table} AS RESTRICTIVE FOR DELETE USING ({removed})")
